set -eu
node --test tests/*.test.ts
