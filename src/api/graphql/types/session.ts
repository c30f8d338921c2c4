/** Sessions: the list and the revocation; only REST opens sessions, because that sets a cookie. Logins of machines: the decision. */
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { approveInput, approveLogin, refuseInput, refuseLogin } from '../../../domain/logins/decide.ts'
import { findLogin, type LoginView, loginStatus } from '../../../domain/logins/login.ts'
import {
  isCurrent,
  revokeInput,
  revokeSession,
  type SessionView,
  sessionActor,
  sessionEnd,
  sessionExpiry,
  sessionRole,
  sessions,
} from '../../../domain/sessions/session.ts'
import { builder } from '../builder/builder.ts'
import { newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { LoginStatus, Role } from '../builder/enums.ts'
import { mutation, resultAs } from '../builder/mutation.ts'
import { Actor } from './event.ts'

/** Logins of the command line: the query by code and the decision. Only REST begins logins and hands their keys out. */
const Login = builder.objectRef<LoginView>('Login').implement({
  description: 'A login of the command line on a machine. A person approves it; then the machine gets an API key.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name', { description: 'The name of the machine, as it says itself.' }),
    address: t.exposeString('address', {
      description: 'The address that the login came from; of an IPv6 address the first 64 bits.',
    }),
    status: t.field({ type: LoginStatus, resolve: (login, _args, ctx) => loginStatus(login, ctx.clock()) }),
    role: t.expose('role', {
      type: Role,
      nullable: true,
      description: 'The role of the key. Null unless the login is approved.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
  }),
})

const errors = [NotFoundError, ConflictError]

builder.queryField('login', (t) =>
  t.field({
    type: Login,
    nullable: true,
    description:
      'The login with the code that the command line shows. NOT_FOUND if the code is unknown, or if another workspace decided about the login. For deployers.',
    args: { code: t.arg.string({ required: true }) },
    resolve: (_root, { code }, ctx) => findLogin(ctx, { body: { code } }),
  }),
)

mutation('approveLogin', {
  description:
    'Approves a login. The machine gets an API key of this workspace for at most 30 days. The caller is its owner and may revoke it. Approve only a login that you have started: compare the code. For deployers.',
  input: approveInput,
  type: resultAs('login', Login),
  errors,
  verb: approveLogin,
})

mutation('refuseLogin', {
  description: 'Refuses a login: the machine gets no key. For deployers.',
  input: refuseInput,
  type: resultAs('login', Login),
  errors,
  verb: refuseLogin,
})

export const Session = builder.objectRef<SessionView>('Session').implement({
  description:
    'A session in a browser. It has the rights of the credential that opened it, but can’t read the values of secrets.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    actor: t.field({
      type: Actor,
      description: 'The actor that events show for calls over this session.',
      resolve: (session) => sessionActor(session),
    }),
    role: t.field({
      type: Role,
      description: 'The role. A session of a key has the key’s current role.',
      resolve: sessionRole,
    }),
    organizationWide: t.boolean({
      description: 'Whether the session is valid in every workspace of the organization.',
      resolve: ({ workspaceId }) => workspaceId === null,
    }),
    apiKeyId: t.exposeID('apiKeyId', {
      nullable: true,
      description: 'The key that opened the session. The session ends with the key.',
    }),
    current: t.boolean({
      description: 'Whether this call uses the session.',
      resolve: (session, _args, ctx) => isCurrent(session, ctx),
    }),
    createdAt: t.field({ type: 'DateTime', resolve: ({ openedAt, createdAt }) => openedAt ?? createdAt }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true }),
    expiresAt: t.field({ type: 'DateTime', resolve: sessionExpiry }),
    endedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the session was ended early. Null: it was not.',
      resolve: sessionEnd,
    }),
  }),
})

builder.queryField('sessions', (t) =>
  t.connection(
    {
      type: Session,
      description:
        'The caller’s own sessions, newest first. Admins see all sessions that are valid in this workspace. Ended sessions are listed for one more day.',
      complexity: pageCost,
      resolve: (_root, args, ctx) => newestOf(sessions, ctx, args),
    },
    { name: 'SessionConnection' },
    { name: 'SessionEdge' },
  ),
)

mutation('revokeSession', {
  description: 'Ends a session and its open streams. Ending it again changes nothing.',
  input: revokeInput,
  type: resultAs('session', Session),
  errors: [NotFoundError],
  verb: revokeSession,
})
