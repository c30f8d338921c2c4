/** A registry that keeps nothing: its tokens say what they were signed for. */
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
