/** What only root can try. */

/** For `skipIf`: true, and a line that says so, when this is not root on Linux. */
export function needsRoot(what: string): boolean {
  const is = process.platform === 'linux' && process.getuid?.() === 0
  if (!is) console.log(`Skipped, since it takes root on Linux: ${what}`)
  return !is
}
