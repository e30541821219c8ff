/** Finds the transfers that settle all balances. */

export interface Transfer {
  from: string;
  to: string;
  cents: number;
}

interface Side {
  name: string;
  cents: number;
}

const byName = (a: Side, b: Side): number => (a.name < b.name ? -1 : 1);

const bySum = (a: Side, b: Side): number => b.cents - a.cents || byName(a, b);

/** Returns the transfers in their sequence. */
export function settle(balances: ReadonlyMap<string, number>): Transfer[] {
  const all = [...balances].map(([name, cents]) => ({ name, cents }));
  const debtors = all.filter((each) => each.cents < 0).map((each) => ({ ...each, cents: -each.cents }));
  const creditors = all.filter((each) => each.cents > 0);
  const transfers: Transfer[] = [];
  const pay = (debtor: Side, creditor: Side) => {
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
