// How `npm test` runs: real processes and one real Postgres for the whole run, a database of its own for each file.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { retry, secondTryReporter } from './test/support/second-try.ts'

/** Files that take a minute, most of it waiting for processes and clocks: at the end they would run alone. */
const SLOW = /\/test\/(e2e|server\/process|auth\/cli|listener|gitprovider\/client|kubernetes\/(rollout|runtime-away))/

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const slow = ({ moduleId }: TestSpecification) => SLOW.test(moduleId)
    return [...sorted.filter(slow), ...sorted.filter((file) => !slow(file))]
  }
}

export default defineConfig({
  // Vite would take graphql's other build for our files, and then there are two GraphQLErrors; Node takes this one
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // the browser's are for `npm run test:browser`
    exclude: ['test/fixtures/**', 'test/browser/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: SlowFirst },
    retry,
    reporters: ['default', secondTryReporter],
    // processes, not threads: tests start children and send signals
    pool: 'forks',
    // a worker loads the source once, for all files that it runs: nothing of it keeps a state of its own, and tests that
    // change the process (its environment, its clock) change it back
    isolate: false,
    unstubEnvs: true,
    restoreMocks: true,
    // twice the cores of a small machine: much of the time is waiting
    maxWorkers: 4,
    // what waits for a condition says so by itself (poll, below); these two are for what hangs
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // the default of a second is short for a busy machine; whoever needs a bound says so
    expect: { poll: { interval: 20, timeout: 15_000 } },
  },
})
