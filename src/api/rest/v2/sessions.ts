/** Operations on sessions (docs/api-rules.md#sessions). ../sign-in.ts opens them. */
import { listInput, listSessions, revokeInput, revokeSession } from '../../../domain/sessions/session.ts'
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
      'Lists your own sessions. Admins see all sessions that are valid for the workspace. Ended sessions are listed for one more day.',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page of sessions.', sessionList, listSessions),
    errors: [],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/sessions/{session_id}',
    operationId: 'revokeSession',
    summary: 'End a session',
    description: 'Open calls and streams of the session end too. A repeated call changes nothing.',
    tag,
    input: revokeInput,
    ...noContent('The session has ended. Calls with it are refused.', revokeSession),
    errors: [404],
  }),
]
