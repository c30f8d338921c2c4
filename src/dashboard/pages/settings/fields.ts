/** Every field that can be set, with its bounds, its default, for which sources it is, and what comes of another value. Pure. */
import type { Source } from './stored-settings.ts'

/**
 * What another value does: `builds` a new revision · `deploys` a new revision without a build · `nextBuild`: is kept for the next build ·
 * `atOnce`: is carried out on what runs, without a revision · `nothing`: nothing runs differently
 */
export type Effect = 'builds' | 'deploys' | 'nextBuild' | 'immediate' | 'none'

export interface Field {
  /** as in `UpdateDeploymentInput` */
  path: string
  label: string
  help?: string
  kind: 'text' | 'switch' | 'integer' | 'cores' | 'pairs' | 'names' | 'json' | 'upload'
  effect: Effect
  /** absent: all of them */
  sources?: readonly Source[]
  min?: number
  max?: number
  /** of a text: the longest */
  maxLength?: number
  /** for people: what it is where nothing is said */
  defaultText?: string
}

const GIT = ['gitprovider'] as const
const BUILT = ['gitprovider', 'internal_source'] as const
const IMAGES = ['external_container', 'internal_container'] as const

export const SOURCE_FIELDS: readonly Field[] = [
  {
    path: 'sourceRevisionConfig.repoRef',
    label: 'Branch or tag',
    help: 'A branch by its name, or a tag as refs/tags/….',
    kind: 'text',
    effect: 'builds',
    sources: GIT,
    maxLength: 2048,
  },
  {
    path: 'sourceConfig.buildOnPush',
    label: 'Build on push',
    help: 'Each push to the branch makes a revision. Not with a tag.',
    kind: 'switch',
    effect: 'none',
    sources: GIT,
    defaultText: 'off',
  },
  {
    path: 'sourceRevisionConfig.graphConfigPath',
    label: 'Configuration file',
    help: 'The path of the graph configuration file in the source, or of package.json, pyproject.toml, Procfile or Dockerfile.',
    kind: 'text',
    effect: 'builds',
    sources: BUILT,
    maxLength: 2048,
  },
  {
    path: 'sourceRevisionConfig.imageUri',
    label: 'Image',
    help: 'The container image that is run.',
    kind: 'text',
    effect: 'deploys',
    sources: IMAGES,
    maxLength: 2048,
  },
  {
    path: 'sourceRevisionConfig.sourceTarballPath',
    label: 'Source',
    help: 'Sent at once; it is built when this is saved.',
    kind: 'upload',
    effect: 'builds',
    sources: ['internal_source'],
    defaultText: 'nothing to build yet',
  },
  {
    path: 'sourceConfig.installCommand',
    label: 'Install command',
    help: 'Runs from the root of the repository. For JavaScript.',
    kind: 'text',
    effect: 'nextBuild',
    sources: BUILT,
    maxLength: 4096,
    defaultText: 'found by the lock file',
  },
  {
    path: 'sourceConfig.buildCommand',
    label: 'Build command',
    help: 'Runs from the folder of the configuration file. For JavaScript.',
    kind: 'text',
    effect: 'nextBuild',
    sources: BUILT,
    maxLength: 4096,
    defaultText: 'none',
  },
  {
    path: 'sourceConfig.customUrl',
    label: 'Address',
    help: 'Where it is reached: an http(s) URL.',
    kind: 'text',
    effect: 'immediate',
    sources: ['external_container'],
    maxLength: 2048,
    defaultText: 'the runtime’s own',
  },
]

const SPEC = 'sourceConfig.resourceSpec'
const resource = (name: string, label: string, rest: Pick<Field, 'kind'> & Partial<Field>): Field => ({
  path: `${SPEC}.${name}`,
  label,
  effect: 'immediate',
  ...rest,
})
const INT32_MAX = 2_147_483_647
const integer = (name: string, label: string, defaultText?: string) =>
  resource(name, label, { kind: 'integer', min: 0, max: INT32_MAX, defaultText })
const cores = (name: string, label: string, max: number, defaultText?: string) =>
  resource(name, label, { kind: 'cores', min: 0.1, max, defaultText })
const anyCores = (name: string, label: string, defaultText?: string) =>
  resource(name, label, { kind: 'cores', min: 0, max: 1_000_000, defaultText })

export interface ResourceGroup {
  title: string
  about: string
  fields: readonly Field[]
}

interface ComputeOptions {
  /** how the names of its fields begin */
  prefix?: string
  /** what is asked for where nothing is said */
  request?: string
  memoryLimit?: string
  /** whether the bounds of CPU are those of an agent */
  isBounded?: boolean
}

/** CPU and memory, which everything that runs has. */
function computeFields({
  prefix = '',
  request = 'no request',
  memoryLimit = '2 × memory',
  isBounded = true,
}: ComputeOptions): Field[] {
  const named = (name: string) => (prefix === '' ? name : prefix + name[0]!.toUpperCase() + name.slice(1))
  const cpu = (name: string, label: string, max: number, defaultText: string) =>
    isBounded ? cores(named(name), label, max, defaultText) : anyCores(named(name), label, defaultText)
  return [
    cpu('cpu', 'CPU', 8, request),
    cpu('cpuLimit', 'CPU limit', 16, '2 × CPU'),
    integer(named('memoryMb'), 'Memory, MB', request),
    integer(named('memoryLimitMb'), 'Memory limit, MB', memoryLimit),
  ]
}

export const RESOURCE_GROUPS: readonly ResourceGroup[] = [
  {
    title: 'Agent',
    about: 'Of each replica.',
    fields: [
      integer('minScale', 'Replicas, least', '1'),
      integer('maxScale', 'Replicas, most', '1'),
      ...computeFields({}),
    ],
  },
  {
    title: 'Queue',
    about: 'What works on runs in the background. Like the agent where nothing is said.',
    fields: [
      integer('queueMinScale', 'Replicas, least', 'the agent’s'),
      integer('queueMaxScale', 'Replicas, most', 'the agent’s'),
      ...computeFields({ prefix: 'queue', request: 'the agent’s' }),
    ],
  },
  {
    title: 'Cache',
    about: 'Beside the agent.',
    fields: computeFields({ prefix: 'cache', memoryLimit: 'the memory' }),
  },
  {
    title: 'Database',
    about: 'The deployment’s own Postgres.',
    fields: [
      ...computeFields({ prefix: 'db', isBounded: false }),
      integer('dbStorageGi', 'Storage, GiB', '10'),
      integer('dbMaxConnections', 'Connections, most', '100'),
    ],
  },
]

export const CLUSTER_FIELDS: readonly Field[] = [
  resource('serviceAccountName', 'Service account', { kind: 'text', help: 'Must be there, in the namespace.' }),
  resource('imagePullSecrets', 'Image pull secrets', { kind: 'names', help: 'Names of secrets in the namespace.' }),
  resource('labels', 'Labels', { kind: 'pairs', help: 'On each object that is made.' }),
  resource('annotations', 'Annotations', { kind: 'pairs', help: 'On each object that is made.' }),
  resource('ingressAnnotations', 'Ingress annotations', { kind: 'pairs', help: 'On the Ingress alone.' }),
  resource('autoscaler', 'Autoscaler', {
    kind: 'text',
    help: 'cpu, or none where something else decides the replicas within minimum and maximum.',
    defaultText: 'cpu',
  }),
  resource('class', 'Class', { kind: 'text', help: 'Where the pods run: one of the classes of the listener.' }),
  resource('volumes', 'Volumes', { kind: 'json', help: '[{"name": "data", "emptyDir": {}}]' }),
  resource('volumeMounts', 'Volume mounts', { kind: 'json', help: '[{"name": "data", "mountPath": "/data"}]' }),
  resource('initContainers', 'Init containers', { kind: 'json', help: 'Run to their end before the agent starts.' }),
  resource('sidecars', 'Sidecars', { kind: 'json', help: 'Run beside the agent.' }),
]

/** Stored and shown, without effect: callers of other servers send them. */
export const UNUSED_FIELDS: readonly Field[] = [
  anyCores('orchestratorCpu', 'Orchestrator CPU'),
  anyCores('orchestratorCpuLimit', 'Orchestrator CPU limit'),
  integer('orchestratorMemoryMb', 'Orchestrator memory, MB'),
  integer('orchestratorMemoryLimitMb', 'Orchestrator memory limit, MB'),
  integer('orchestratorMinScale', 'Orchestrator replicas, least'),
  integer('orchestratorMaxScale', 'Orchestrator replicas, most'),
  anyCores('executorCpu', 'Executor CPU'),
  anyCores('executorCpuLimit', 'Executor CPU limit'),
  integer('executorMemoryMb', 'Executor memory, MB'),
  integer('executorMemoryLimitMb', 'Executor memory limit, MB'),
]

const REFERENCES: Field = {
  path: 'secretReferences',
  label: 'Secret references',
  kind: 'json',
  effect: 'immediate',
  sources: ['external_container'],
}
const TAGS: Field = { path: 'tags', label: 'Tags', kind: 'json', effect: 'none' }

const ALL_FIELDS = [
  ...SOURCE_FIELDS,
  ...RESOURCE_GROUPS.flatMap(({ fields }) => fields),
  ...CLUSTER_FIELDS,
  ...UNUSED_FIELDS,
  REFERENCES,
  TAGS,
]
const FIELDS_BY_PATH = new Map(ALL_FIELDS.map((field) => [field.path, field]))
export const findField = (path: string): Field | undefined => FIELDS_BY_PATH.get(path)

/** Of a field as events name it, which know no groups. */
export const eventFieldLabel = (changed: string): string =>
  EVENT_FIELD_LABELS[changed] ??
  ALL_FIELDS.find(({ path }) => path.split('.').pop() === changed)?.label.toLowerCase() ??
  changed
const EVENT_FIELD_LABELS: Record<string, string> = { resourceSpec: 'resources', secrets: 'secrets' }

/** For people, with the group that it is in: `Queue: CPU`. */
export function fieldLabel(path: string): string {
  const group = RESOURCE_GROUPS.find(({ fields }) => fields.some((field) => field.path === path))
  const label = findField(path)?.label ?? path
  return group ? `${group.title}: ${label}` : label
}

/** Bounds, for people; null: none worth telling. */
export function boundsText({ kind, min, max, maxLength }: Field): string | null {
  if (kind === 'cores') return max! > 1_000 ? 'cores' : `${min} to ${max} cores`
  if (kind === 'integer') return `${min} or more`
  return maxLength ? `At most ${maxLength.toLocaleString('en')} characters` : null
}

export const appliesTo = ({ sources }: Field, source: Source): boolean => !sources || sources.includes(source)
