// npm run bench [-- part ...]: each part prints its figures and what they are compared with. None fails for being slow.
const parts: Readonly<Record<string, () => Promise<unknown>>> = {
  ingest: () => import('./ingest.ts'),
  fairness: () => import('./fairness.ts'),
  lateness: () => import('./lateness.ts'),
  flood: () => import('./flood.ts'),
  soak: () => import('./soak.ts'),
  lists: () => import('./lists.ts'),
};
/** `flood` and `lists` take minutes, and `soak` compares nothing. */
const USUAL = ['ingest', 'fairness', 'lateness'];

const wanted = process.argv.length > 2 ? process.argv.slice(2) : USUAL;
const unknown = wanted.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. Parts: ${Object.keys(parts).join(', ')}.`);
  process.exit(2);
}
for (const name of wanted) {
  console.log(`\n=== ${name}\n`);
  await parts[name]?.();
}
