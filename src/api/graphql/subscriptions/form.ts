/** How a subscription is written as server-sent events: `graphql-sse`, distinct connections mode, with the cursor as `id`. */
import type { Log } from '../../../platform/log/log.ts'
import { StreamInterruptedError } from '../../realtime/interrupted.ts'
import { type SseForm, sseEvent } from '../../sse/form.ts'
import { resultText } from './rendering.ts'

const COMPLETE = 'event: complete\ndata:\n\n'

export function graphqlForm(log: Log): SseForm {
  return {
    name: 'graphql',
    frame: ({ cursor, text }) => sseEvent({ id: cursor, event: 'next', data: text }),
    complete: COMPLETE,
    error(error) {
      const data = resultText({ errors: [error as never] }, log, '')
      const id = error instanceof StreamInterruptedError ? error.cursor : undefined
      return sseEvent({ id, event: 'next', data }) + COMPLETE
    },
  }
}
