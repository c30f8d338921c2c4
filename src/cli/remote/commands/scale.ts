/** `scale`: changes a deployment's replicas and resources, without a revision. */
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { type Client, type Deployment, PilothouseError } from '../../../client/index.ts'
import { UsageError } from '../../terminal/command.ts'
import { remoteCommand, wholeNumber } from '../frame/call.ts'

type ResourceSpec = NonNullable<Deployment['source_config']['resource_spec']>

const replicas = wholeNumber(0, 10_000)
const megabytes = wholeNumber(1, 100_000_000)

export const scale = remoteCommand({
  examples: ['scale my-agent --replicas 3', 'scale my-agent --min 1 --max 5 --cpu 0.5 --memory 1024'],
  details: `Other members of the resource spec stay. The change applies to the running revision.
Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`,
  define: (command) =>
    command
      .argument('<deployment>', 'by name or id')
      .option('--replicas <n>', 'the number of replicas', replicas)
      .option('--min <n>', 'the minimum number of replicas', replicas)
      .option('--max <n>', 'the maximum number of replicas', replicas)
      .option('--cpu <cores>', 'cores requested by each replica', cores)
      .option('--cpu-limit <cores>', 'the most cores of each replica', cores)
      .option('--memory <mb>', 'MB requested by each replica', megabytes)
      .option('--memory-limit <mb>', 'the most MB of each replica', megabytes)
      .option('--grace <seconds>', 'how long replaced replicas may finish their runs', wholeNumber(0, 3600)),
  async work({ client }, [nameOrId], options) {
    const { replicas, min = replicas, max = replicas } = options
    if (replicas !== undefined && (options.min ?? options.max) !== undefined)
      throw new UsageError('Pass --replicas, or --min and --max.')
    const given = {
      ...{ min_scale: min, max_scale: max, cpu: options.cpu, cpu_limit: options.cpuLimit },
      ...{ memory_mb: options.memory, memory_limit_mb: options.memoryLimit },
      termination_grace_seconds: options.grace,
    }
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    if (Object.keys(change).length === 0) throw new UsageError('Pass at least one of the options.')
    const { id, name } = await client.find(nameOrId)
    const spec = await changeSpec(client, id, change)
    return {
      outcome: 'done',
      json: { deployment_id: id, name, resource_spec: spec },
      text: `${name}: ${describe(spec)}`,
    }
  },
})

const MAX_CONFLICTS = 20

/** A PATCH replaces the whole spec. If-Match keeps a concurrent change of other members. */
async function changeSpec({ api }: Client, deployment_id: string, change: ResourceSpec): Promise<ResourceSpec> {
  const params = { path: { deployment_id } }
  for (let conflicts = 0; ; conflicts++) {
    const { data, response } = await api.GET('/v2/deployments/{deployment_id}', { params })
    const resource_spec = { ...data!.source_config.resource_spec, ...change }
    try {
      const changed = await api.PATCH('/v2/deployments/{deployment_id}', {
        params,
        body: { source_config: { resource_spec } },
        headers: { 'If-Match': response.headers.get('etag')! },
      })
      return changed.data!.source_config.resource_spec ?? {}
    } catch (error) {
      const isConflict = error instanceof PilothouseError && error.code === 'PRECONDITION_FAILED'
      if (!isConflict || conflicts >= MAX_CONFLICTS) throw error
    }
  }
}

const describe = (spec: ResourceSpec): string =>
  Object.entries(spec)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')

function cores(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= 100_000) return value
  throw new InvalidArgumentError('It must be a number of cores, for example 0.5.')
}
