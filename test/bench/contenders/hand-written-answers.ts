/** Response schemas of the hand-written routes, from which Fastify compiles serialisers. */
const text = { type: ['string', 'null'] } as const
const time = { type: ['string', 'null'], format: 'date-time' } as const
const int = { type: 'integer' } as const
const any = {} as const
const object = (properties: object) => ({ type: 'object', properties }) as const
const maybe = (properties: object) => ({ type: ['object', 'null'], nullable: true, properties }) as const
const list = (items: object) => ({ type: 'array', items }) as const

const revision = { id: text, number: int, status: text, createdAt: time }
const summary = { id: text, name: text, source: text, createdAt: time, updatedAt: time }
const listener = maybe({ id: text, computeId: text, lastSeenAt: time })
const revisionConfig = object({
  repo_ref: text,
  graph_config_path: text,
  image_uri: text,
  source_tarball_path: text,
  repo_commit_sha: text,
})
const deployment = object({
  id: text,
  tenant_id: text,
  name: text,
  source: text,
  source_config: object({
    integration_id: text,
    repo_url: text,
    deployment_type: text,
    build_on_push: { type: ['boolean', 'null'] },
    custom_url: text,
    resource_spec: any,
    listener_id: text,
    listener_config: any,
    install_command: text,
    build_command: text,
  }),
  source_revision_config: revisionConfig,
  secrets: list(any),
  secret_references: any,
  status: text,
  serving: { type: 'boolean' },
  status_message: text,
  reason: text,
  reason_since: time,
  why_not_live: text,
  last_change: any,
  health: any,
  url: text,
  image_version: text,
  latest_revision_id: text,
  active_revision_id: text,
  created_at: time,
  updated_at: time,
})

const answered = (schema: object) => ({ response: { '2xx': schema } })

export const answers = {
  page: answered(
    object({
      nodes: list(object({ ...summary, latestRevision: maybe(revision), activeRevision: maybe(revision), listener })),
      endCursor: text,
    }),
  ),
  one: answered(object({ ...summary, listener, revisions: list(object(revision)) })),
  deployment: answered(deployment),
  deployments: answered(object({ resources: list(deployment), offset: { type: ['integer', 'null'] } })),
  revision: answered(
    object({
      id: text,
      deployment_id: text,
      status: text,
      status_message: text,
      reason: text,
      reason_since: time,
      source: text,
      source_revision_config: revisionConfig,
      attempt: int,
      created_at: time,
      updated_at: time,
    }),
  ),
}
