/**
 * Finds the transfers that settle all balances.
 *
 * @typedef {{ from: string, to: string, cents: number }} Transfer
 * @typedef {{ name: string, cents: number }} Side
 */

/**
 * @param {Side} a
 * @param {Side} b
 * @returns {number}
 */
const byName = (a, b) => (a.name < b.name ? -1 : 1);

/**
 * @param {Side} a
 * @param {Side} b
 * @returns {number}
 */
const bySum = (a, b) => b.cents - a.cents || byName(a, b);

/**
 * Returns the transfers in their sequence.
 * @param {ReadonlyMap<string, number>} balances
 * @returns {Transfer[]}
 */
export function settle(balances) {
  const all = [...balances].map(([name, cents]) => ({ name, cents }));
  const debtors = all.filter((each) => each.cents < 0).map((each) => ({ ...each, cents: -each.cents }));
  const creditors = all.filter((each) => each.cents > 0);
  /** @type {Transfer[]} */
  const transfers = [];
  const pay = (/** @type {Side} */ debtor, /** @type {Side} */ creditor) => {
    const cents = Math.min(debtor.cents, creditor.cents);
    debtor.cents -= cents;
    creditor.cents -= cents;
    transfers.push({ from: debtor.name, to: creditor.name, cents });
  };
  creditors.sort(byName);
  for (const debtor of debtors.sort(byName)) {
    const equal = creditors.find((each) => each.cents === debtor.cents);
    if (equal) {
      pay(debtor, equal);
    }
  }
  for (;;) {
    const [debtor] = debtors.filter((each) => each.cents > 0).sort(bySum);
    const [creditor] = creditors.filter((each) => each.cents > 0).sort(bySum);
    if (!debtor || !creditor) {
      return transfers;
    }
    pay(debtor, creditor);
  }
}
