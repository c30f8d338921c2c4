// How `npm run test:browser` runs: one server and one Chromium for all files, one after the other, in one process.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { retry, secondTryReporter } from '../support/second-try.ts'

/** They share a server, and what one has made is there for the next: in the same order each time. */
class ByName extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1))
  }
}

export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['**/*.test.ts'],
    globalSetup: ['global-setup.ts'],
    sequence: { sequencer: ByName },
    retry,
    reporters: ['default', secondTryReporter],
    pool: 'forks',
    maxWorkers: 1,
    // the browser is started once (page.ts)
    isolate: false,
    // what hangs ends the run in minutes; what a page has to do in time says so by itself
    testTimeout: 45_000,
    hookTimeout: 120_000,
    expect: { poll: { interval: 50, timeout: 15_000 } },
  },
})
