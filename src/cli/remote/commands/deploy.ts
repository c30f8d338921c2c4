/** `deploy`: creates or updates a deployment from git, an image or a local folder, and waits for the outcome. */
import type { DeployBody, Deployment, DeployResult } from '../../../client/index.ts'
import { UsageError } from '../../terminal/command.ts'
import { pack, type Tarball } from '../deploy/pack.ts'
import { addSourceOptions, createBody, type SourceOptions, updateBody } from '../deploy/request.ts'
import { readSecrets, type SecretOptions, secretsChange } from '../deploy/secrets.ts'
import { type RemoteCall, remoteCommand, repeatable } from '../frame/call.ts'
import { addWaitOptions, followRevision, WAIT_DETAILS } from '../frame/follow.ts'

export const deploy = remoteCommand({
  examples: [
    'deploy my-agent --repo https://github.com/acme/agent --ref main --config graph.json --secret OPENAI_API_KEY',
    'deploy my-agent --image registry.example.com/agent:2 --no-wait',
    'deploy my-agent --dir . --logs',
  ],
  details: WAIT_DETAILS,
  define: (command) =>
    addWaitOptions(
      addSourceOptions(command.argument('<name>', 'the deployment’s name'))
        .optionsGroup('Secrets:')
        .option('--secret <name>', 'set a secret from the environment variable of this name; repeatable', repeatable)
        .option('--secrets-file <file>', 'set secrets from lines NAME=value; - is stdin')
        .option('--unset-secret <name>', 'remove a secret; repeatable', repeatable)
        .optionsGroup('Rollout:')
        .option(
          '--idempotency-key <key>',
          'the same call with the same key returns the first result for 24 hours; not with --dir',
        )
        .option('--no-wait', 'don’t wait for the end of the rollout'),
    ),
  async work(call, [name], options) {
    const { deployment, revisionId, created } = await send(call, name, options)
    const { id } = deployment
    call.say(`${name}: ${created ? 'created' : 'updated'}, deployment ${id}, revision ${revisionId ?? 'unchanged'}`)
    if (revisionId !== null && options.wait) return followRevision(call, options, deployment, revisionId)
    const text = revisionId === null ? `${name}: the change needs no rollout.` : `To wait: pilothouse wait ${id}`
    return { outcome: 'done', json: { deployment_id: id, name: deployment.name, revision_id: revisionId }, text }
  },
})

interface DeployOptions extends SourceOptions, SecretOptions {
  idempotencyKey?: string
}

async function send(call: RemoteCall, name: string, options: DeployOptions): Promise<DeployResult> {
  const { client, env } = call
  const kinds = (['repo', 'image', 'dir'] as const).filter((kind) => options[kind] !== undefined)
  if (kinds.length > 1) throw new UsageError('Pass only one of --repo, --image and --dir.')
  const secrets = readSecrets(options, env)
  const unset = options.unsetSecret ?? []
  const body = async (existing: Deployment | null): Promise<DeployBody> => ({
    ...(existing
      ? updateBody(options, existing, secrets.size + unset.length > 0)
      : await createBody(client, options, name)),
    secrets: secretsChange(existing, secrets, unset),
  })
  if (options.dir === undefined) return client.deploy({ name, body, idempotencyKey: options.idempotencyKey })
  if (options.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key does not work with --dir, because each upload is a new source.')
  return sendFolder(call, name, { ...options, dir: options.dir }, body)
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
