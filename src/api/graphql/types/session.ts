/** Sessions: who is signed in, and how they are ended. Signing in is REST's alone, since it sets a cookie. */
import { NotFoundError } from '../../../domain/errors/errors.ts'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import { countSessions, windowSessions } from '../../../domain/sessions/read.ts'
import { revokeInput, revokeSession } from '../../../domain/sessions/revoke.ts'
import {
  isCurrent,
  type SessionView,
  sessionActor,
  sessionEnd,
  sessionExpiry,
  sessionRole,
} from '../../../domain/sessions/session.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { Role } from '../builder/enums.ts'
import { verbInput } from '../builder/verb-input.ts'
import { Actor } from './event.ts'

export const Session = builder.objectRef<SessionView>('Session').implement({
  description:
    'Somebody’s session in a browser. It has the rights of what it was opened with, without the values of secrets.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    actor: t.field({
      type: Actor,
      description: 'Who acts over it, as events name them.',
      resolve: (session) => sessionActor(session),
    }),
    role: t.field({ type: Role, description: 'Of a key’s session the key’s, as it is now.', resolve: sessionRole }),
    organizationWide: t.boolean({
      description: 'Valid in every workspace of the organization.',
      resolve: ({ workspaceId }) => workspaceId === null,
    }),
    apiKeyId: t.exposeID('apiKeyId', { nullable: true, description: 'The key that it came from, and ends with.' }),
    current: t.boolean({
      description: 'The call came over this one.',
      resolve: (session, _args, ctx) => isCurrent(session, ctx),
    }),
    createdAt: t.field({ type: 'DateTime', resolve: ({ openedAt, createdAt }) => openedAt ?? createdAt }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true }),
    expiresAt: t.field({ type: 'DateTime', resolve: sessionExpiry }),
    endedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Null: nobody has ended it before its time.',
      resolve: sessionEnd,
    }),
  }),
})

const RevokeSessionSuccess = builder.objectRef<SessionView>('RevokeSessionSuccess').implement({
  fields: (t) => ({ session: t.field({ type: Session, resolve: (session) => session }) }),
})

const revoke = verbInput('RevokeSessionInput', revokeInput)

builder.queryField('sessions', (t) =>
  t.connection(
    {
      type: Session,
      description:
        'One’s own sessions, for admins everybody’s that are good for this workspace, newest first. Ended ones are listed for another day.',
      complexity: pageCost,
      resolve: async (_root, args, ctx) =>
        connectionOf(await windowSessions(ctx, args), args, newestCursor, () => countSessions(ctx)),
    },
    { name: 'SessionConnection' },
    { name: 'SessionEdge' },
  ),
)

builder.mutationField('revokeSession', (t) =>
  t.field({
    type: RevokeSessionSuccess,
    description: 'Ends a session, and what it has open. A second time changes nothing.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: revoke.type, required: true }) },
    resolve: (_root, { input }, ctx) => revokeSession(ctx, revoke.raw(input)),
  }),
)
