// Configuration of `npm test`: real processes, one real Postgres per run, and a separate database per file.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { retry, secondTryReporter } from './test/support/second-try.ts'

/** Slow files, which mostly wait for processes and clocks. They start first, so that none of them runs alone at the end. */
const SLOW = [
  'auth/cli',
  'builder/images',
  'builder/remote',
  'chaos',
  'database/embedded',
  'dataplane/build',
  'dataplane/containers',
  'dataplane/leavers',
  'dataplane/serving',
  'dataplane/sleep',
  'dataplane/stale-server',
  'dataplane/trees',
  'dataplane/worker',
  'deploy',
  'domain/leases',
  'domain/values',
  'e2e',
  'gitprovider/client',
  'gitprovider/push',
  'kubernetes/rollout',
  'kubernetes/runtime-unreachable',
  'limits/limits',
  'listener',
  'readme',
  'server/newcomer',
  'server/process',
  'server/restarts',
  'start',
  'supervisor/serving',
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const slow = ({ moduleId }: TestSpecification) => SLOW.some((name) => moduleId.includes(`/test/${name}`))
    return [...sorted.filter(slow), ...sorted.filter((file) => !slow(file))]
  }
}

export default defineConfig({
  // Vite would resolve graphql to its other build, which gives a second GraphQLError class; Node uses this one
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:browser` runs those of the browser
    exclude: ['test/fixtures/**', 'test/browser/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/localhost-names.mjs'],
    sequence: { sequencer: SlowFirst },
    retry,
    reporters: ['default', secondTryReporter],
    // processes, not threads: tests start children and send signals
    pool: 'forks',
    // a worker loads the source once for all of its files: the source has no global state, and tests that change the
    // process (its environment, its clock) restore it
    isolate: false,
    unstubEnvs: true,
    restoreMocks: true,
    // more than the cores of a small machine, because tests mostly wait
    maxWorkers: 5,
    // limits for tests that hang; waits for a condition have their own limit (poll, below)
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // the default of a second is too short on a busy machine
    expect: { poll: { interval: 20, timeout: 15_000 } },
  },
})
