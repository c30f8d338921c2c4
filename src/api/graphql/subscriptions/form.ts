/** How a subscription is written as server-sent events: `graphql-sse`, distinct connections mode, with the cursor as `id`. */
import type { Log } from '../../../platform/log/log.ts'
import { type SseForm, sseEvent } from '../../sse/form.ts'
import { resultText } from './rendering.ts'

const COMPLETE = 'event: complete\ndata:\n\n'

export function graphqlForm(log: Log): SseForm {
  return {
    name: 'graphql',
    frame: ({ cursor, text }) => sseEvent({ id: cursor, event: 'next', data: text }),
    complete: COMPLETE,
    error(error, cursor) {
      const data = resultText({ errors: [error as never] }, log, '')
      return sseEvent({ ...(cursor && { id: cursor }), event: 'next', data }) + COMPLETE
    },
  }
}
