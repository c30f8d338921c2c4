/**
 * Operations on sessions (docs/api-rules.md#sessions), which ../sign-in.ts opens, and of the person who decides about a login
 * (docs/api-rules.md#logins), which ../login.ts begins.
 */

import { approveInput, approveLogin, refuseInput, refuseLogin } from '../../../domain/logins/decide.ts'
import { findInput, findLogin } from '../../../domain/logins/login.ts'
import { listInput, listSessions, revokeInput, revokeSession } from '../../../domain/sessions/session.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { login, sessionList } from '../responses/session.ts'

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

/** Operations of the person who decides about a login (docs/api-rules.md#logins). ../login.ts has those of the machine. */
export const logins: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/logins/lookup',
    operationId: 'lookUpLogin',
    summary: 'Get the login with a code',
    description: 'A login that another workspace decided about is not found. Needs the role `deployer`.',
    tag: 'Logins',
    input: findInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'The login.', login, findLogin),
    errors: [404],
  }),
  operation({
    method: 'POST',
    path: '/v2/logins/{login_id}/approve',
    operationId: 'approveLogin',
    summary: 'Approve a login',
    description:
      'The machine gets an API key of this workspace for at most 30 days. You are its owner and may revoke it. It ends with the key that you approve it with. Approve only a login that you have started: compare the code. Needs the role `deployer`, and `admin` for a key of the role `admin`.',
    tag: 'Logins',
    input: approveInput,
    ...singleResponse(200, 'The approved login.', login, approveLogin),
    errors: [404, 409],
  }),
  operation({
    method: 'POST',
    path: '/v2/logins/{login_id}/refuse',
    operationId: 'refuseLogin',
    summary: 'Refuse a login',
    description: 'The machine gets no key. Needs the role `deployer`.',
    tag: 'Logins',
    input: refuseInput,
    ...singleResponse(200, 'The refused login.', login, refuseLogin),
    errors: [404, 409],
  }),
]
