#include "ops.h"

const Ops& ops() {
  static const Ops all = [] {
    Ops joined;
    for (const auto* table : {&ELEMENTWISE, &MANIPULATION, &REDUCTIONS, &PRODUCTS, &LAYERS, &RANDOM}) {
      joined.insert(table->begin(), table->end());
    }
    return joined;
  }();
  return all;
}
