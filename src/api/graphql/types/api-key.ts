/** API keys: admins create, change, list and revoke them; other callers list and revoke their own. */
import { DomainError, NotFoundError } from '../../../domain/errors/errors.ts'
import { type KeyView, keys } from '../../../domain/keys/key.ts'
import {
  type CreatedKey,
  createInput,
  createKey,
  revokeInput,
  revokeKey,
  updateInput,
  updateKey,
} from '../../../domain/keys/manage.ts'
import { builder } from '../builder/builder.ts'
import { newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { Role } from '../builder/enums.ts'
import { mutation, resultAs } from '../builder/mutation.ts'

export const ApiKey = builder.objectRef<KeyView>('ApiKey').implement({
  description: 'A credential of a workspace, or of the whole organization. Its text is shown once, when it is created.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    owner: t.exposeString('owner', {
      nullable: true,
      description: 'The person or team that uses the key. Events show it as the author. Null: events show `name`.',
    }),
    role: t.expose('role', { type: Role }),
    secretsRead: t.exposeBoolean('secretsRead', { description: 'Whether the key may read the values of secrets.' }),
    listenerId: t.exposeID('listenerId', {
      nullable: true,
      description:
        'The listener that the key is limited to. Only for the role `listener`. Null after the listener is deleted.',
    }),
    agentId: t.exposeString('agentId', {
      nullable: true,
      description: 'The agent that the key is limited to. Only for the role `agent`.',
    }),
    prefix: t.exposeString('prefix', { description: 'The first characters of the key’s text.' }),
    organizationWide: t.boolean({
      description: 'Whether the key is valid in every workspace of the organization.',
      resolve: ({ workspaceId }) => workspaceId === null,
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Who created the key. Null: the system.' }),
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
        'The text of the key. It is only in this answer. If the call is repeated with its Idempotency-Key, this is null with the error ALREADY_SHOWN.',
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
    `The text of the API key '${name}' was only in the first answer to this call. If you lost it, revoke the key (${id}) and create another one.`,
  )

builder.queryField('apiKeys', (t) =>
  t.connection(
    {
      type: ApiKey,
      description:
        'The keys that can act in this workspace, newest first, revoked and expired ones included. Admins see all. Other callers see the key of the call, and the keys of logins that they approved.',
      complexity: pageCost,
      resolve: (_root, args, ctx) => newestOf(keys, ctx, args),
    },
    { name: 'ApiKeyConnection' },
    { name: 'ApiKeyEdge' },
  ),
)

mutation('createApiKey', {
  description: 'Creates an API key of this workspace. For admins.',
  input: createInput,
  type: CreateApiKeySuccess,
  errors: [NotFoundError],
  verb: createKey,
})

mutation('updateApiKey', {
  description: 'Changes the owner of an API key. For admins. A key without an owner may set its own.',
  input: updateInput,
  type: resultAs('apiKey', ApiKey),
  errors: [NotFoundError],
  verb: updateKey,
})

mutation('revokeApiKey', {
  description:
    'Revokes an API key immediately, and the keys of logins that it approved. Revoking it again changes nothing. For admins; a key may revoke itself, and the approver of a login its key.',
  input: revokeInput,
  type: resultAs('apiKey', ApiKey),
  errors: [NotFoundError],
  verb: revokeKey,
})
