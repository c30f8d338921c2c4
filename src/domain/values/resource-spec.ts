/** ResourceSpec (docs/deployments.md#resource-spec): CPU in cores, memory in MB, storage in GiB. */
import { z } from 'zod'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import { optional, count as wholeNumber } from '../parsing/fields.ts'
import { parse, type RawInput, violation } from '../parsing/parse.ts'

/** Rounds to one decimal before the check. */
const cpu = (min: number, max: number) =>
  optional(
    z
      .number()
      .overwrite((cores) => Math.round(cores * 10) / 10)
      .min(min)
      .max(max),
  )
/** docs/deployments.md#resource-spec sets no bounds for these. */
const anyCpu = cpu(0, 1_000_000)
const count = optional(wholeNumber)
const text = optional(z.string())
const object = optional(z.record(z.string(), z.unknown()))
const unused = <T extends z.ZodType>(type: T) =>
  type.meta({ deprecated: true, description: 'Do not use. The value is stored and returned, and has no effect.' })

/** Objects of Kubernetes, with its field names. `typeName`: the type's name in GraphQL. */
const volumeSources = {
  configMap: object,
  secret: object,
  emptyDir: object,
  persistentVolumeClaim: object,
  nfs: object,
  projected: object,
  downwardAPI: object,
  csi: object,
}
const volume = z.object({ name: z.string().min(1), ...volumeSources }).meta({ typeName: 'Volume' })

const volumeMount = z
  .object({
    name: z.string().min(1),
    mountPath: text,
    subPath: text,
    mountPropagation: text,
    subPathExpr: text,
    readOnly: optional(z.boolean()),
  })
  .meta({ typeName: 'VolumeMount' })

const container = z
  .object({
    name: z.string().min(1),
    image: text,
    imagePullPolicy: text,
    workingDir: text,
    restartPolicy: text,
    command: optional(z.array(z.string())),
    args: optional(z.array(z.string())),
    env: optional(
      z.array(z.object({ name: z.string().min(1), value: text, valueFrom: object }).meta({ typeName: 'ContainerEnv' })),
    ),
    envFrom: optional(z.array(z.record(z.string(), z.unknown()))),
    resources: optional(z.object({ limits: object, requests: object }).meta({ typeName: 'ContainerResources' })),
    volumeMounts: optional(z.array(volumeMount)),
    securityContext: object,
  })
  .meta({ typeName: 'Container' })

export const AUTOSCALERS = ['cpu', 'none'] as const
export const QUEUE_METRICS = ['cpu', 'backlog'] as const

export const resourceSpec = z
  .object({
    min_scale: count.describe('Minimum number of replicas. Default: 1.'),
    max_scale: count.describe('Maximum number of replicas. Default: 1.'),
    cpu: cpu(0.1, 8).describe('Cores requested by each replica, rounded to one decimal.'),
    cpu_limit: cpu(0.1, 16).describe('Default: 2 × cpu.'),
    memory_mb: count.describe('MB requested by each replica.'),
    memory_limit_mb: count.describe('Default: 2 × memory_mb.'),
    queue_min_scale: count.describe('Default: min_scale.'),
    queue_max_scale: count.describe('Default: max_scale.'),
    queue_cpu: cpu(0.1, 8).describe('Default: cpu.'),
    queue_cpu_limit: cpu(0.1, 16).describe('Default: 2 × queue_cpu.'),
    queue_memory_mb: count.describe('Default: memory_mb.'),
    queue_memory_limit_mb: count.describe('Default: 2 × queue_memory_mb.'),
    orchestrator_cpu: unused(anyCpu),
    orchestrator_cpu_limit: unused(anyCpu),
    orchestrator_memory_mb: unused(count),
    orchestrator_memory_limit_mb: unused(count),
    orchestrator_min_scale: unused(count),
    orchestrator_max_scale: unused(count),
    executor_cpu: unused(anyCpu),
    executor_cpu_limit: unused(anyCpu),
    executor_memory_mb: unused(count),
    executor_memory_limit_mb: unused(count),
    cache_cpu: cpu(0.1, 8).describe('Cores requested by the cache.'),
    cache_cpu_limit: cpu(0.1, 16).describe('Default: 2 × cache_cpu.'),
    cache_memory_mb: count.describe('MB requested by the cache.'),
    cache_memory_limit_mb: count.describe('Default: cache_memory_mb.'),
    labels: optional(z.record(z.string(), z.string())).describe('Extra labels for the created resources.'),
    annotations: optional(z.record(z.string(), z.string())).describe('Extra annotations for the created resources.'),
    ingress_annotations: optional(z.record(z.string(), z.string())).describe(
      'Extra annotations for the Ingress only. They override `annotations`.',
    ),
    autoscaler: optional(z.enum(AUTOSCALERS).meta({ typeName: 'Autoscaler' })).describe(
      'What sets the number of replicas between minimum and maximum. `cpu`: an autoscaler based on CPU. `none`: your own autoscaler. Default: `cpu`.',
    ),
    queue_scaling: optional(
      z
        .object({
          metric: z
            .enum(QUEUE_METRICS)
            .meta({ typeName: 'QueueMetric' })
            .describe(
              '`cpu`: per cent of the requested CPU. `backlog`: waiting runs, which needs KEDA in the cluster.',
            ),
          target: z.int().min(1).max(10_000).describe('The value of the metric for each replica.'),
        })
        .meta({ typeName: 'QueueScaling' }),
    ).describe('What sets the number of queue replicas between minimum and maximum. Default: `cpu` with 80.'),
    queue_health_path: optional(
      z
        .string()
        .regex(
          /^\/[!-"$-~]{0,255}$/,
          'Must begin with "/": at most 256 printable ASCII characters, without spaces and "#".',
        ),
    ).describe(
      'The path that a liveness probe of queue replicas requests from the port in PORT, for example `/ok`. Default: no probe.',
    ),
    termination_grace_seconds: optional(z.int().min(0).max(3600)).describe(
      'Seconds that a replaced server or queue has to finish its runs and streams. Default: in clusters 180 for a server and 600 for a queue, elsewhere the server’s DRAIN_SECONDS.',
    ),
    class: optional(z.string().min(1).max(63)).describe(
      'The class that decides where and how the pods run (GPU, node pool, priority). Must be one of the `pod_classes` of the listener.',
    ),
    service_account_name: text.describe('The service account must exist in the namespace.'),
    image_pull_secrets: optional(
      z.array(z.object({ name: z.string().min(1) }).meta({ typeName: 'ImagePullSecret' })),
    ).describe('Image pull Secrets of the namespace.'),
    volumes: optional(z.array(volume)),
    volume_mounts: optional(z.array(volumeMount)).describe('Each mount names one of the volumes.'),
    init_containers: optional(z.array(container)).describe(
      'Containers that run to completion before the agent starts.',
    ),
    sidecars: optional(z.array(container)).describe('Containers that run next to the agent.'),
    db_cpu: anyCpu.describe('Cores requested by the database.'),
    db_cpu_limit: anyCpu.describe('Default: 2 × db_cpu.'),
    db_memory_mb: count.describe('MB requested by the database.'),
    db_memory_limit_mb: count.describe('Default: 2 × db_memory_mb.'),
    db_storage_gi: count.describe('GiB of database storage. Default: 10.'),
    db_max_connections: count.describe('Default: 100.'),
  })
  .meta({ id: 'ResourceSpec' })

export type ResourceSpec = z.output<typeof resourceSpec>

/** The spec with its defaults. A value without input and default is null: no request, no limit. */
export interface EffectiveSpec extends ResourceSpec {
  min_scale: number
  max_scale: number
  queue_min_scale: number
  queue_max_scale: number
  db_storage_gi: number
  db_max_connections: number
}

const twice = (value: number | null | undefined) => (value == null ? null : Math.round(value * 20) / 10)

/** Adds the defaults of docs/deployments.md#resource-spec. No other code defines them. */
export function effectiveSpec(stored: ResourceSpec | null | undefined): EffectiveSpec {
  const spec: ResourceSpec = stored ?? {}
  const min_scale = spec.min_scale ?? 1
  const max_scale = spec.max_scale ?? 1
  const queue_cpu = spec.queue_cpu ?? spec.cpu ?? null
  const queue_memory_mb = spec.queue_memory_mb ?? spec.memory_mb ?? null
  return {
    ...spec,
    min_scale,
    max_scale,
    cpu_limit: spec.cpu_limit ?? twice(spec.cpu),
    memory_limit_mb: spec.memory_limit_mb ?? twice(spec.memory_mb),
    queue_min_scale: spec.queue_min_scale ?? min_scale,
    queue_max_scale: spec.queue_max_scale ?? max_scale,
    queue_cpu,
    queue_cpu_limit: spec.queue_cpu_limit ?? twice(queue_cpu),
    queue_memory_mb,
    queue_memory_limit_mb: spec.queue_memory_limit_mb ?? twice(queue_memory_mb),
    cache_cpu_limit: spec.cache_cpu_limit ?? twice(spec.cache_cpu),
    cache_memory_limit_mb: spec.cache_memory_limit_mb ?? spec.cache_memory_mb ?? null,
    db_cpu_limit: spec.db_cpu_limit ?? twice(spec.db_cpu),
    db_memory_limit_mb: spec.db_memory_limit_mb ?? twice(spec.db_memory_mb),
    db_storage_gi: spec.db_storage_gi ?? 10,
    db_max_connections: spec.db_max_connections ?? 100,
  }
}

/** Pairs of a field and its upper bound. Effective values are compared. */
const ORDERED = [
  ['min_scale', 'max_scale'],
  ['queue_min_scale', 'queue_max_scale'],
  ['orchestrator_min_scale', 'orchestrator_max_scale'],
  ['cpu', 'cpu_limit'],
  ['memory_mb', 'memory_limit_mb'],
  ['queue_cpu', 'queue_cpu_limit'],
  ['queue_memory_mb', 'queue_memory_limit_mb'],
  ['orchestrator_cpu', 'orchestrator_cpu_limit'],
  ['orchestrator_memory_mb', 'orchestrator_memory_limit_mb'],
  ['executor_cpu', 'executor_cpu_limit'],
  ['executor_memory_mb', 'executor_memory_limit_mb'],
  ['cache_cpu', 'cache_cpu_limit'],
  ['cache_memory_mb', 'cache_memory_limit_mb'],
  ['db_cpu', 'db_cpu_limit'],
  ['db_memory_mb', 'db_memory_limit_mb'],
] as const satisfies [keyof ResourceSpec, keyof ResourceSpec][]

const VOLUME_SOURCES = Object.keys(volumeSources) as (keyof typeof volumeSources)[]

export function resourceSpecViolations(spec: ResourceSpec | null | undefined): Violation[] {
  if (!spec) return []
  const at = (field: string) => `source_config.resource_spec.${field}`
  const found: Violation[] = []
  const effective = effectiveSpec(spec)
  for (const [low, high] of ORDERED) {
    const [lower, upper] = [effective[low], effective[high]]
    if (lower == null || upper == null || lower <= upper) continue
    const how = spec[high] == null ? `${upper}, the default of ${high}` : high
    found.push(violation(at(spec[low] == null ? high : low), `${low} (${lower}) must not be larger than ${how}.`))
  }
  if (spec.queue_scaling && spec.autoscaler === 'none')
    found.push(violation(at('queue_scaling'), 'With the autoscaler none, another program scales the queue.'))
  const volumes = spec.volumes ?? []
  const names = volumes.map((v) => v.name)
  volumes.forEach((v, i) => {
    if (names.indexOf(v.name) !== i)
      found.push(violation(at(`volumes.${i}.name`), `Another volume has the name ${v.name}.`))
    if (VOLUME_SOURCES.filter((source) => v[source] != null).length > 1)
      found.push(violation(at(`volumes.${i}`), `A volume has one source: one of ${VOLUME_SOURCES.join(', ')}.`))
  })
  const mounts = (where: string, list: readonly { name: string }[] | null | undefined) =>
    list?.forEach((mount, i) => {
      if (!names.includes(mount.name))
        found.push(violation(at(`${where}.${i}.name`), `There is no volume named ${mount.name} in volumes.`))
    })
  mounts('volume_mounts', spec.volume_mounts)
  for (const list of ['init_containers', 'sidecars'] as const)
    for (const [i, c] of (spec[list] ?? []).entries()) mounts(`${list}.${i}.volumeMounts`, c.volumeMounts)
  return found
}

const effectiveInput = z.object({ query: z.object({ resource_spec: resourceSpec }) })

/** The resources that a deployment would get with a spec that is not stored yet. Throws ValidationError at `resource_spec`. */
export function effectiveResources(raw: RawInput): EffectiveSpec {
  const spec = parse(effectiveInput, raw).query.resource_spec
  rejectIfAny(
    resourceSpecViolations(spec).map(({ loc, ...rest }) => ({
      ...rest,
      loc: ['query', ...loc.slice(loc.indexOf('resource_spec'))],
    })),
  )
  return effectiveSpec(spec)
}
