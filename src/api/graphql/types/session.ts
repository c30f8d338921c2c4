/** Sessions: the list and the revocation. Only REST opens sessions, because that sets a cookie. */
import { NotFoundError } from '../../../domain/errors/errors.ts'
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
import { Role } from '../builder/enums.ts'
import { mutation, resultAs } from '../builder/mutation.ts'
import { Actor } from './event.ts'

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
