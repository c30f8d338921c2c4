/** Sessions over REST (docs/api-rules.md#sessions): who is signed in. How somebody signs in is in ../sign-in.ts. */
import { listInput, listSessions } from '../../../domain/sessions/read.ts'
import { revokeInput, revokeSession } from '../../../domain/sessions/revoke.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { sessionList } from '../responses/session.ts'

const tag = 'Sessions'

export const sessions: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/sessions',
    operationId: 'listSessions',
    summary: 'List sessions, newest first',
    description:
      'One’s own; for admins everybody’s that are good for the workspace. Ended ones are listed for another day.',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page.', sessionList, listSessions),
    errors: [],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/sessions/{session_id}',
    operationId: 'revokeSession',
    summary: 'End a session',
    description: 'Also what it has open, streams among it. A second time changes nothing.',
    tag,
    input: revokeInput,
    ...noContent('It is refused from now on.', revokeSession),
    errors: [404],
  }),
]
