// How `npm test` runs: real processes and one real Postgres for the whole run, a database of its own for each file.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Vite would take graphql's other build for our files, and then there are two GraphQLErrors; Node takes this one
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/fixtures/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // processes, not threads: tests start children and send signals
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
