/** `deploy`: creates or updates a deployment from git, an image or a local folder, and waits for the outcome. */
import { Option } from '@commander-js/extra-typings'
import type { DeployBody, Deployment, DeployResult } from '../../../client/index.ts'
import { UsageError } from '../../terminal/command.ts'
import { pack, type Tarball } from '../deploy/pack.ts'
import {
  ACCESSES,
  addSourceOptions,
  createBody,
  PROJECT_FILE,
  type SourceOptions,
  updateBody,
} from '../deploy/request.ts'
import {
  describeChanges,
  readSecrets,
  type SecretChange,
  type SecretOptions,
  secretChanges,
  secretsBody,
} from '../deploy/secrets.ts'
import { checkServerVersion, type RemoteCall, remoteCommand, repeatable, wholeNumber } from '../frame/call.ts'
import { addRolloutOptions, rolloutResult, WAIT_DETAILS } from '../frame/follow.ts'

export const deploy = remoteCommand({
  examples: [
    'deploy my-agent --repo https://github.com/acme/agent --ref main --config graph.json --secret OPENAI_API_KEY',
    'deploy my-agent --image registry.example.com/agent:2 --no-wait',
    'deploy my-agent --dir . --logs',
    'deploy --logs',
  ],
  details: WAIT_DETAILS,
  define: (command) =>
    addRolloutOptions(
      addSourceOptions(
        command.argument('[deployment]', `its name; by default ${PROJECT_FILE} of this folder says what to deploy`),
      )
        .optionsGroup('Secrets:')
        .option('--secret <name>', 'set a secret from the environment variable of this name; repeatable', repeatable)
        .option('--secrets-file <file>', 'set secrets from lines NAME=value; - is stdin')
        .option('--unset-secret <name>', 'remove a secret; repeatable', repeatable)
        .option('-y, --yes', 'on a terminal, don’t ask before secrets change')
        .optionsGroup('Access:')
        .addOption(
          new Option('--access <who>', 'who may call the agent; a new deployment is for its workspace').choices(
            ACCESSES,
          ),
        )
        .optionsGroup('Sleep:')
        .option(
          '--idle-minutes <n>',
          'an agent with min_scale 0 sleeps after this time without a request; 0: the default of the server',
          wholeNumber(0, 10_080),
        )
        .optionsGroup('Rollout:')
        .option(
          '--idempotency-key <key>',
          'the same call with the same key returns the first result for 24 hours; not with --dir',
        ),
    ),
  async work(call, [given], options) {
    const { name, ...plan } = await planOf(given, options)
    const { deployment, revisionId, created, secrets } = await send(call, name, plan)
    const { id } = deployment
    call.say(`${name}: ${created ? 'created' : 'updated'}, deployment ${id}, revision ${revisionId ?? 'unchanged'}`)
    await checkServerVersion(call)
    const result = await rolloutResult(call, options, deployment, revisionId)
    return { ...result, json: { ...result.json, secrets } }
  },
})

interface DeployOptions extends SourceOptions, SecretOptions {
  idempotencyKey?: string
  yes?: true
}

interface Plan extends DeployOptions {
  /** names of the project file */
  declared: string[]
}

/** A given name ignores the project file. */
async function planOf(given: string | undefined, options: DeployOptions): Promise<Plan & { name: string }> {
  if (given !== undefined) return { ...options, name: given, declared: [] }
  // loaded here, because its libraries take 30 ms
  const { projectOptions, readProject } = await import('../deploy/project.ts')
  const project = readProject()
  if (!project) throw new UsageError(`Pass a NAME, or write ${PROJECT_FILE} with \`pilothouse init\`.`)
  return { ...options, ...projectOptions(project, options), name: project.name, declared: project.secrets ?? [] }
}

type Sent = DeployResult & { secrets: SecretChange[] }

async function send(call: RemoteCall, name: string, options: Plan): Promise<Sent> {
  const { client, env } = call
  const kinds = (['repo', 'image', 'dir'] as const).filter((kind) => options[kind] !== undefined)
  if (kinds.length > 1) throw new UsageError('Pass only one of --repo, --image and --dir.')
  const values = readSecrets(options, env)
  for (const secret of options.declared) if (env[secret] !== undefined) values.set(secret, env[secret])
  let secrets: SecretChange[] = []
  let shown = ''
  async function body(existing: Deployment | null): Promise<DeployBody> {
    secrets = secretChanges(existing, values, options.unsetSecret ?? [], options.declared)
    const source = existing
      ? updateBody(options, existing, secrets.length > 0)
      : await createBody(client, options, name)
    const text = describeChanges(secrets)
    if (text !== shown) {
      shown = text
      call.say(`${name}: secrets\n${text}`)
      if (existing && call.interactive) await call.confirm('Deploy with these secrets?', options.yes)
    }
    return {
      ...source,
      access: options.access,
      // a new deployment has the default
      idle_minutes: existing ? options.idleMinutes : options.idleMinutes || undefined,
      secrets: secretsBody(secrets, values),
    }
  }
  if (options.dir === undefined)
    return { ...(await client.deploy({ name, body, idempotencyKey: options.idempotencyKey })), secrets }
  if (options.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key does not work with --dir, because each upload is a new source.')
  return { ...(await sendFolder(call, name, { ...options, dir: options.dir }, body)), secrets }
}

/**
 * Creates a missing deployment first, because upload URLs belong to a deployment. Packs the folder after the options are checked and
 * before the create.
 */
async function sendFolder(
  { client, say, progress }: RemoteCall,
  name: string,
  { dir, config }: { dir: string; config?: string },
  bodyFor: (existing: Deployment | null) => Promise<DeployBody>,
): Promise<DeployResult> {
  let packed: Tarball | undefined
  try {
    const { deployment, created } = await client.deploy({
      name,
      async body(existing) {
        const body = await bodyFor(existing)
        if (!packed) {
          packed = await pack(dir)
          say(`${name}: ${(packed.size / 1e6).toFixed(1)} MB of ${dir}`)
        }
        return existing ? {} : body
      },
    })
    progress('uploading')
    const source_tarball_path = await client.uploadSource({ deploymentId: deployment.id, file: packed!.file })
    const body = async (existing: Deployment | null) => ({
      ...(created ? {} : await bodyFor(existing)),
      source_revision_config: { source_tarball_path, graph_config_path: config },
    })
    return { ...(await client.deploy({ name, body })), created }
  } finally {
    await packed?.remove()
  }
}
