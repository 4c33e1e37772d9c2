// A binary heap: the smallest item comes out first.
export class TinyQueue {
  constructor(items = [], compare = (a, b) => a - b) {
    this.items = items;
    this.compare = compare;
    for (let at = (items.length >> 1) - 1; at >= 0; at--) this.#down(at);
  }

  push(item) {
    this.items.push(item);
    this.#up(this.items.length - 1);
  }

  pop() {
    const top = this.items[0];
    const last = this.items.pop();
    if (this.items.length > 0) {
      this.items[0] = last;
      this.#down(0);
    }
    return top;
  }

  #up(at) {
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.compare(this.items[at], this.items[parent]) >= 0) return;
      [this.items[at], this.items[parent]] = [this.items[parent], this.items[at]];
      at = parent;
    }
  }

  #down(at) {
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.items.length && this.compare(this.items[child], this.items[least]) < 0) least = child;
      }
      if (least === at) return;
      [this.items[at], this.items[least]] = [this.items[least], this.items[at]];
      at = least;
    }
  }
}
