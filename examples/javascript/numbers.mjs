// Exact numbers: JSON has neither infinities nor NaN, and JSON.stringify drops the sign of zero.

const WORDS = {inf: Infinity, '-inf': -Infinity, nan: NaN};

// A number as it came over the wire.
export const number = (form) => (typeof form === 'string' ? WORDS[form] : form);

const written = (x) => {
  if (Number.isFinite(x)) return Object.is(x, -0) ? '-0.0' : String(x);
  return Number.isNaN(x) ? '"nan"' : x > 0 ? '"inf"' : '"-inf"';
};

// A value as JSON, its numbers with the shortest digits that read back as the same double.
export function text(form) {
  if (typeof form === 'number') return written(form);
  if (Array.isArray(form)) return `[${form.map(text).join(',')}]`;
  if (form === null || typeof form !== 'object') return JSON.stringify(form);
  const fields = Object.entries(form).filter(([, value]) => value !== undefined);
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${text(value)}`).join(',')}}`;
}
