/** `deploy`: creates or updates a deployment from git, an image or a local folder, and waits for the outcome. */
import type { DeployBody, Deployment, DeployResult } from '../../client/index.ts'
import { UsageError } from '../terminal/command.ts'
import { type CommandCall, remoteCommand } from './call.ts'
import { createBody, SOURCE_OPTIONS, updateBody } from './deploy-request.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'
import { pack, type Tarball } from './pack.ts'
import { readSecrets, secretsChange } from './secrets.ts'

const OPTIONS = {
  ...SOURCE_OPTIONS,
  secret: { type: 'string', multiple: true },
  'secrets-file': { type: 'string' },
  'unset-secret': { type: 'string', multiple: true },
  'idempotency-key': { type: 'string' },
  'no-wait': { type: 'boolean', default: false },
  ...WAIT_OPTIONS,
} as const

export const deployOne = remoteCommand({
  usage:
    'NAME [--repo URL] [--ref REF] [--config PATH] | [--image URI] | [--dir FOLDER] [--secret NAME]… [--no-wait] [--timeout S] [--logs] [--json]',
  summary: 'creates the deployment or updates it, and waits until it is live or has failed',
  details: `
  NAME              the deployment's name
From git (an update keeps the values of omitted options; NAME alone builds the newest commit of the stored ref):
  --repo URL        the repository; --integration ID if there are several integrations
  --ref REF         a branch, or a tag as refs/tags/…
  --config PATH     the graph configuration file, or package.json, pyproject.toml, Procfile or Dockerfile of an application
                    without graphs
  --type dev|prod   only when the deployment is created
  --build-on-push   build each push to the branch
From an image:
  --image URI       the image; a new deployment also takes --listener ID and --namespace NAME, where it runs
From a local folder, without files that git ignores:
  --dir FOLDER      the folder; a new deployment also takes --config PATH, by default the first existing file of
                    langgraph.json, graph.json, package.json, pyproject.toml, Procfile, Dockerfile
Secrets:
  --secret NAME     sets the secret NAME from the environment variable NAME; repeatable. Other secrets stay
  --secrets-file F  sets secrets from lines NAME=value; - is stdin
  --unset-secret N  removes a secret; repeatable
Other options:
  --idempotency-key KEY   the same call with the same key returns the first result for 24 hours; not with --dir
  --no-wait         don't wait for the end of the rollout
${WAIT_HELP}`,
  options: OPTIONS,
  words: 1,
  async work(call) {
    const { values, say, words } = call
    const { deployment, revisionId, created } = await send(call)
    const { id, name } = deployment
    say(`${name}: ${created ? 'created' : 'updated'}, deployment ${id}, revision ${revisionId ?? 'unchanged'}`)
    if (revisionId !== null && !values['no-wait']) return followRevision(call, deployment, revisionId)
    const text =
      revisionId === null ? `${words[0]}: the change needs no rollout.` : `To wait: npm run cli -- wait ${id}`
    return { outcome: 'done', json: { deployment_id: id, name, revision_id: revisionId }, text }
  },
})

type DeployCall = CommandCall<typeof OPTIONS>

async function send(call: DeployCall): Promise<DeployResult> {
  const { client, values, env, words } = call
  const name = words[0]!
  const kinds = (['repo', 'image', 'dir'] as const).filter((kind) => values[kind] !== undefined)
  if (kinds.length > 1) throw new UsageError('Pass only one of --repo, --image and --dir.')
  const secrets = readSecrets(values, env)
  const unset = values['unset-secret'] ?? []
  const body = async (existing: Deployment | null): Promise<DeployBody> => ({
    ...(existing
      ? updateBody(values, existing, secrets.size + unset.length > 0)
      : await createBody(client, values, name)),
    secrets: secretsChange(existing, secrets, unset),
  })
  if (values.dir === undefined) return client.deploy({ name, body, idempotencyKey: values['idempotency-key'] })
  if (values['idempotency-key'] !== undefined)
    throw new UsageError('--idempotency-key does not work with --dir, because each upload is a new source.')
  return sendFolder(call, name, values.dir, body)
}

/**
 * Creates a missing deployment first, because upload URLs belong to a deployment. Packs the folder after the options are checked and
 * before the create.
 */
async function sendFolder(
  { client, values, say }: DeployCall,
  name: string,
  folder: string,
  bodyFor: (existing: Deployment | null) => Promise<DeployBody>,
): Promise<DeployResult> {
  let packed: Tarball | undefined
  try {
    const { deployment, created } = await client.deploy({
      name,
      async body(existing) {
        const body = await bodyFor(existing)
        if (!packed) {
          packed = await pack(folder)
          say(`${name}: ${(packed.size / 1e6).toFixed(1)} MB of ${folder}`)
        }
        return existing ? {} : body
      },
    })
    const source_tarball_path = await client.uploadSource({ deploymentId: deployment.id, file: packed!.file })
    const body = async (existing: Deployment | null) => ({
      ...(created ? {} : await bodyFor(existing)),
      source_revision_config: { source_tarball_path, graph_config_path: values.config },
    })
    return { ...(await client.deploy({ name, body })), created }
  } finally {
    await packed?.remove()
  }
}
