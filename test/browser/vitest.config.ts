// Configuration of `npm run test:browser`: one server and one Chromium for all files, one after the other, in one
// process.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { retry, secondTryReporter } from '../support/second-try.ts'

/** The files share a server and its data, so they run in a fixed order. */
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
    // the browser starts once (page.ts)
    isolate: false,
    // a hanging test ends the run after minutes; time limits of pages are separate
    testTimeout: 45_000,
    hookTimeout: 120_000,
    expect: { poll: { interval: 50, timeout: 15_000 } },
  },
})
