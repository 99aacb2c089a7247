import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, fromAddress, toAddress } from "../../src/undwarf/outputs/page/web/state.js";

test("an address gives the view that it was made of", () => {
  const view = {
    ...structuredClone(DEFAULTS),
    view: "code",
    range: [5, 90],
    gaps: [1, 3],
    threads: [2],
    hide: "a|b&c=d#e",
    chosen: "operator<<(std::ostream&, char)@libc.so.6",
    zoom: ["main@a", "f g@b"],
    sort: "name",
    idle: true,
  };
  assert.deepEqual(fromAddress(`#${toAddress(view)}`), view);
});

test("the usual view has an empty address", () => {
  assert.equal(toAddress(structuredClone(DEFAULTS)), "");
});

test("what an address has in a wrong form is ignored", () => {
  const address = "view=shell&measure=-1&range=[5,1]&gaps={}&threads=[1,null]&zoom=5&idle=maybe&__proto__=1&constructor=2&unheard=1";
  assert.deepEqual(fromAddress(address), structuredClone(DEFAULTS));
});
