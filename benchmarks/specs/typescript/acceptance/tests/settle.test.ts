import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../src/settle.ts';

/** Returns the transfers as words. */
function words(balances) {
  return settle(new Map(Object.entries(balances))).map((each) => `${each.from} ${each.to} ${each.cents}`);
}

test('R-2633d1: debtors pay creditors until all is settled', () => {
  assert.deepEqual(words({ ada: 500, bo: -500 }), ['bo ada 500']);
  const balances = { ada: 700, bo: -300, cy: -900, di: 500 };
  for (const each of settle(new Map(Object.entries(balances)))) {
    assert.ok(balances[each.from] < 0 && balances[each.to] > 0 && each.cents > 0);
    balances[each.from] += each.cents;
    balances[each.to] -= each.cents;
  }
  assert.deepEqual(balances, { ada: 0, bo: 0, cy: 0, di: 0 });
});

test('R-3c91bf: balances that cancel each other settle first, by name', () => {
  const balances = { ada: 900, bo: -200, cy: 200, di: -1000, ed: 100 };
  assert.deepEqual(words(balances), ['bo cy 200', 'di ada 900', 'di ed 100']);
  assert.deepEqual(words({ zoe: -5, bo: -5, cy: 5, ada: 5 }), ['bo ada 5', 'zoe cy 5']);
  assert.deepEqual(words({ ada: -3, bo: -8, cy: 8, di: 3 }), ['ada di 3', 'bo cy 8']);
});

test('R-68121e: then the largest pay the largest, equal sums by name', () => {
  assert.deepEqual(words({ ada: -100, bo: -300, cy: 150, di: 250 }), ['bo di 250', 'ada cy 100', 'bo cy 50']);
  assert.deepEqual(words({ di: -6, cy: -6, bo: 4, ada: 4, ed: 4 }), ['cy ada 4', 'di bo 4', 'cy ed 2', 'di ed 2']);
});

test('R-705011: nobody transfers zero', () => {
  assert.deepEqual(words({ ada: 0, bo: 0 }), []);
  assert.deepEqual(words({}), []);
  assert.deepEqual(words({ ada: 0, bo: 1, cy: -1 }), ['cy bo 1']);
});
