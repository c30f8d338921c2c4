/**
 * CI runs once, on a machine that can't be inspected later. There a failed test runs a second time. If it passes then,
 * the end of the run names it: its cause must be found, but it doesn't block unrelated work. Everywhere else the first
 * failure counts.
 */
import type { Reporter, TestModule } from 'vitest/node'

/** Number of retries of a failed test. */
export const retry = process.env.CI ? 1 : 0

/** Tests that passed only at the second try, as `file > suite > test`, and the first error of each. */
function secondTries(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) =>
    [...module.children.allTests()]
      .filter((test) => test.diagnostic()?.flaky)
      .map((test) => {
        const errors = test.result().errors ?? []
        return `${module.relativeModuleId} > ${test.fullName}\n${errors.map((error) => `    ${error.message}\n`).join('')}`
      }),
  )
}

/** Prints them last, where they are seen. */
export const secondTryReporter: Reporter = {
  onTestRunEnd(modules) {
    const tests = secondTries([...modules])
    if (tests.length > 0) console.error(`\nOnly the second try passed: find out why.\n  ${tests.join('  ')}`)
  },
}
