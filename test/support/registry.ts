/** A registry without storage: its answers say what its tokens were signed for. */
import type { Registry } from '../../src/domain/ports/registry.ts'

export const standInRegistry = (): Registry => ({
  host: 'registry.test',
  insecure: true,
  service: 'test',
  sign: async (subject, access, seconds) => JSON.stringify({ subject, access, seconds }),
  verify: async () => null,
  pullPassword: (repository) => repository,
  pulls: () => null,
  tags: async () => [],
  digestOf: async () => null,
  remove: async () => false,
})
