set -eu
node --test tests/*.test.js
