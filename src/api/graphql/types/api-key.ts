/** API keys: listed, created and revoked by admins. */

import { DomainError, NotFoundError } from '../../../domain/errors/errors.ts'
import { type CreatedKey, createInput, createKey } from '../../../domain/keys/create.ts'
import type { KeyView } from '../../../domain/keys/issue.ts'
import { countKeys, windowKeys } from '../../../domain/keys/list.ts'
import { revokeInput, revokeKey } from '../../../domain/keys/revoke.ts'
import { updateInput, updateKey } from '../../../domain/keys/update.ts'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { Role } from '../builder/enums.ts'
import { verbInput } from '../builder/verb-input.ts'

export const ApiKey = builder.objectRef<KeyView>('ApiKey').implement({
  description: 'A credential of a workspace, or of the whole organization. Its text is shown once, when it is created.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    owner: t.exposeString('owner', {
      nullable: true,
      description: 'The person or team that uses it, which events show as the author; null: they show `name`.',
    }),
    role: t.expose('role', { type: Role }),
    secretsRead: t.exposeBoolean('secretsRead', { description: 'May read the values of secrets.' }),
    listenerId: t.exposeID('listenerId', {
      nullable: true,
      description: 'The one listener whose work it does. Only for the role `listener`; null again when that is gone.',
    }),
    agentId: t.exposeString('agentId', {
      nullable: true,
      description: 'The one agent that it is for. Only for the role `agent`.',
    }),
    prefix: t.exposeString('prefix', { description: 'How its text begins.' }),
    organizationWide: t.boolean({
      description: 'Valid in every workspace of the organization.',
      resolve: ({ workspaceId }) => workspaceId === null,
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Who made it; null: the system.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true }),
  }),
})

const CreateApiKeySuccess = builder.objectRef<CreatedKey>('CreateApiKeySuccess').implement({
  fields: (t) => ({
    apiKey: t.expose('row', { type: ApiKey }),
    key: t.string({
      nullable: true,
      description:
        'The key itself. It is in this answer and nowhere else, ever: where the call is repeated with its Idempotency-Key this is null, with the error ALREADY_SHOWN.',
      resolve: ({ row, text }) => {
        if (text === null) throw alreadyShown(row)
        return text
      },
    }),
  }),
})

const alreadyShown = ({ id, name }: KeyView) =>
  new DomainError(
    'ALREADY_SHOWN',
    `The text of the API key '${name}' was in the first answer to this call, and is stored nowhere. If that was lost, revoke the key (${id}) and create another one.`,
  )

const RevokeApiKeySuccess = builder.objectRef<KeyView>('RevokeApiKeySuccess').implement({
  fields: (t) => ({ apiKey: t.field({ type: ApiKey, resolve: (key) => key }) }),
})

const UpdateApiKeySuccess = builder.objectRef<KeyView>('UpdateApiKeySuccess').implement({
  fields: (t) => ({ apiKey: t.field({ type: ApiKey, resolve: (key) => key }) }),
})

const create = verbInput('CreateApiKeyInput', createInput)
const update = verbInput('UpdateApiKeyInput', updateInput)
const revoke = verbInput('RevokeApiKeyInput', revokeInput)

builder.queryField('apiKeys', (t) =>
  t.connection(
    {
      type: ApiKey,
      description:
        'The keys that can act in this workspace, newest first, revoked and expired ones included. For admins.',
      complexity: pageCost,
      resolve: async (_root, args, ctx) =>
        connectionOf(await windowKeys(ctx, args), args, newestCursor, () => countKeys(ctx)),
    },
    { name: 'ApiKeyConnection' },
    { name: 'ApiKeyEdge' },
  ),
)

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: CreateApiKeySuccess,
    description: 'Creates an API key of this workspace. For admins.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx) => createKey(ctx, create.raw(input)),
  }),
  updateApiKey: t.field({
    type: UpdateApiKeySuccess,
    description: 'Changes the owner of an API key. For admins; a key without an owner may name its own.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx) => updateKey(ctx, update.raw(input)),
  }),
  revokeApiKey: t.field({
    type: RevokeApiKeySuccess,
    description: 'Makes an API key invalid at once. A second time changes nothing. For admins.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: revoke.type, required: true }) },
    resolve: (_root, { input }, ctx) => revokeKey(ctx, revoke.raw(input)),
  }),
}))
