/** Skips tests that need root. */

/** For `skipIf`: true, and prints a line, if this isn't root on Linux. */
export function needsRoot(what: string): boolean {
  const is = process.platform === 'linux' && process.getuid?.() === 0
  if (!is) console.log(`Skipped, since it takes root on Linux: ${what}`)
  return !is
}
