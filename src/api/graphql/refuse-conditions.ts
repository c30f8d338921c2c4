/** Refuses the conditions of HTTP: what a document reads and writes is many things, and each write says its own (`ifVersion`). */
import { rejectIfAny } from '../../domain/errors/errors.ts'

const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Unmodified-Since']

/** Throws ValidationError: who sends one relies on it (docs/api-rules.md#conditional-requests). */
export function refuseConditions(headers: Pick<Headers, 'has'>): void {
  const sent = CONDITIONS.filter((name) => headers.has(name))
  rejectIfAny(
    sent.map((name) => ({
      loc: ['header', name],
      msg: 'GraphQL takes no conditions as headers: say `ifVersion` in the input of a mutation.',
      type: 'extra_forbidden',
    })),
  )
}
