/** Listeners: compute infrastructures that pull work (docs/deployments.md#listeners). Their mutations are for admins. */
import { listenerValidUntil } from '../../../domain/deployment-status/expiry.ts'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import {
  createInput,
  createListener,
  deleteInput,
  deleteListener,
  updateInput,
  updateListener,
} from '../../../domain/listeners/manage.ts'
import {
  countDeploymentsOf,
  countListeners,
  DEPLOYMENTS,
  listenerStatus,
  readListener,
  readListeners,
} from '../../../domain/listeners/read.ts'
import { type ComputeType as ComputeTypeValue, computeConfig } from '../../../domain/listeners/schemas.ts'
import { NEWEST_FIELDS, newestCursor, type Window } from '../../../domain/paging/paging.ts'
import { readById } from '../../../domain/query-engine/reading.ts'
import type { Deployment as DeploymentRow, Listener as ListenerRow } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { ComputeType, ListenerStatus } from '../builder/enums.ts'
import { deletion, mutation, VERSION_DESCRIPTION } from '../builder/mutation.ts'
import { rowMutation } from '../builder/read-back.ts'
import { derived, derivedNow, lookup, membersOfRow, nestedPage, rootPage, VERSIONED } from '../builder/row-fields.ts'
import { outputType, shapeOf } from '../builder/shapes.ts'
import { Deployment, DeploymentConnection } from './deployment.ts'

const ListenerComputeConfig = outputType(
  shapeOf('ListenerComputeConfig', computeConfig),
  'Settings of the compute type.',
  {},
)

const CALLED = { lastSeenAt: true, createdAt: true } as const

const DEPLOYMENT_PAGE = {
  list: DEPLOYMENTS,
  argsOf: (window: Window) => window,
  sort: NEWEST_FIELDS,
  cursorOf: (deployment: DeploymentRow) => newestCursor(deployment),
}

const Listener = builder.prismaObject('Listener', {
  description: 'A registered compute infrastructure that pulls work for the deployments that name it.',
  interfaces: [builder.nodeInterfaceRef()],
  ...VERSIONED,
  fields: (t) => ({
    id: t.exposeID('id'),
    computeType: t.field({
      type: ComputeType,
      ...derived(
        { computeType: true },
        ({ computeType }: Pick<ListenerRow, 'computeType'>) => computeType as ComputeTypeValue,
      ),
    }),
    computeId: t.exposeString('computeId', {
      description: 'The infrastructure’s id, chosen by the user and unique in the workspace.',
    }),
    computeConfig: t.field({ type: ListenerComputeConfig, ...membersOfRow }),
    version: t.exposeString('version', {
      nullable: true,
      description: 'The last reported version of the listener program.',
    }),
    podClasses: t.exposeStringList('podClasses', {
      description: 'The values for `class` in the resource spec of its deployments, as its program last reported.',
    }),
    status: t.field({
      type: ListenerStatus,
      ...derivedNow({ select: CALLED, derive: listenerValidUntil })(CALLED, listenerStatus),
    }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of its last call. Null: it never called.',
      extensions: { isLastSeen: true },
    }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    // `version` is the version of the listener program
    editVersion: t.exposeInt('editVersion', { description: VERSION_DESCRIPTION }),
    deployments: t.connection(
      {
        type: Deployment,
        description:
          'The deployments that use this listener, newest first. Deployments that are being deleted are included.',
        ...nestedPage('deployments', DEPLOYMENT_PAGE, countDeploymentsOf),
      },
      DeploymentConnection,
    ),
  }),
})

builder.queryFields((t) => ({
  listener: t.prismaField({
    type: Listener,
    description: 'One listener. NOT_FOUND if the id is unknown.',
    ...lookup<ListenerRow>('Listener', (ctx, id, reading) => readListener(ctx, { path: { listener_id: id } }, reading)),
  }),
  listeners: t.connection(
    {
      type: Listener,
      description: 'The workspace’s listeners, newest first.',
      ...rootPage<ListenerRow, Window>({
        table: 'Listener',
        sort: NEWEST_FIELDS,
        read: readListeners,
        cursorOf: newestCursor,
        count: countListeners,
      }),
    },
    { name: 'ListenerConnection' },
    { name: 'ListenerEdge' },
  ),
}))

const written = rowMutation(
  'listener',
  Listener,
  async (tx, id, query) => (await readById<ListenerRow>(tx, 'Listener', id, query))!,
)

mutation('createListener', {
  description:
    'Registers a listener. Only for organizations with a self-hosted enterprise plan. The listener program needs an API key of the role `listener`.',
  input: createInput,
  ...written,
  errors: [ConflictError],
  verb: createListener,
})

mutation('updateListener', {
  description: 'Changes the given members and keeps the rest. A namespace that a deployment uses can’t be removed.',
  input: updateInput,
  versioned: 'editVersion',
  ...written,
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
  verb: updateListener,
})

mutation('deleteListener', {
  description: 'Deletes a listener that no deployment uses, and revokes its API keys.',
  input: deleteInput,
  versioned: 'editVersion',
  ...deletion('listener_id', 'The listener is deleted, and its API keys are revoked.', deleteListener),
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
})
