/**
 * CI runs once, on a machine that nobody can look at afterwards. There a test that fails is tried a second time, and named
 * at the end of the run if it passes then: its cause is to be found, but it doesn't hold up what has nothing to do with it.
 * Everywhere else the first failure counts.
 */
import type { Reporter, TestModule } from 'vitest/node'

/** How often a test that has failed is run again. */
export const retry = process.env.CI ? 1 : 0

/** The tests of the run that passed at the second try alone, as `file > suite > test`, and what had been wrong with each. */
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

/** Prints them, last of all, where they are seen. */
export const secondTryReporter: Reporter = {
  onTestRunEnd(modules) {
    const tests = secondTries([...modules])
    if (tests.length > 0) console.error(`\nOnly the second try passed: find out why.\n  ${tests.join('  ')}`)
  },
}
