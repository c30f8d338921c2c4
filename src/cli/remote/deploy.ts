/** `deploy`: creates a deployment or updates the one of that name, from git, an image or a local folder, and waits for the outcome. */
import type { DeployBody, Deployed, Deployment } from '../../client/index.ts'
import { UsageError } from '../terminal/command.ts'
import { type Call, remoteCommand } from './call.ts'
import { changeOf, newOf, SOURCE_OPTIONS } from './deploy-body.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'
import { type Packed, pack } from './pack.ts'
import { givenSecrets, secretsChange } from './secrets.ts'

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
  summary: 'creates a deployment or updates the one of that name, and waits until it is live or has failed',
  details: `
  NAME              of the deployment
From git (what is left out of an update stays as it is; NAME alone builds the newest commit of the ref):
  --repo URL        repository; --integration ID if there are several integrations
  --ref REF         branch, or tag as refs/tags/…
  --config PATH     the graph configuration file, or package.json, pyproject.toml, Procfile or Dockerfile of an application
                    without graphs
  --type dev|prod   --build-on-push   when it is created
An image:
  --image URI       --listener ID, --namespace NAME: where it runs, when it is created
A local folder, without what git ignores:
  --dir FOLDER      --config PATH when it is created; default: the first in it of langgraph.json, graph.json, package.json,
                    pyproject.toml, Procfile, Dockerfile
Secrets:
  --secret NAME     the variable NAME of the environment; may be said again. Other secrets stay
  --secrets-file F  lines NAME=value; - is stdin
  --unset-secret N  takes one away
And:
  --idempotency-key KEY   the same call with the same key, within 24 hours, has the first one's outcome; not with --dir
  --no-wait         don't wait for its end
${WAIT_HELP}`,
  options: OPTIONS,
  words: 1,
  async work(call) {
    const { values, say, words } = call
    const { deployment, revisionId, created } = await send(call)
    const { id, name } = deployment
    say(`${name}: ${created ? 'created' : 'updated'}, deployment ${id}, revision ${revisionId ?? 'unchanged'}`)
    if (revisionId !== null && !values['no-wait']) return followRevision(call, deployment, revisionId)
    const text = revisionId === null ? `${words[0]}: nothing to roll out.` : `To wait: npm run cli -- wait ${id}`
    return { outcome: 'done', json: { deployment_id: id, name, revision_id: revisionId }, text }
  },
})

type DeployCall = Call<typeof OPTIONS>

/** Refuses what can't be meant, then creates or updates. */
async function send(call: DeployCall): Promise<Deployed> {
  const { client, values, env, words } = call
  const name = words[0]!
  const kinds = (['repo', 'image', 'dir'] as const).filter((kind) => values[kind] !== undefined)
  if (kinds.length > 1) throw new UsageError('Only one of --repo, --image and --dir.')
  const secrets = givenSecrets(values, env)
  const unset = values['unset-secret'] ?? []
  const body = async (existing: Deployment | null): Promise<DeployBody> => ({
    ...(existing ? changeOf(values, existing, secrets.size + unset.length > 0) : await newOf(client, values, name)),
    secrets: secretsChange(existing, secrets, unset),
  })
  if (values.dir === undefined) return client.deploy({ name, body, idempotencyKey: values['idempotency-key'] })
  if (values['idempotency-key'] !== undefined)
    throw new UsageError('--idempotency-key is not for --dir: each upload is another source.')
  return sendFolder(call, name, values.dir, body)
}

/**
 * Creates the deployment first if it is missing, since upload addresses belong to a deployment. The folder is packed once the
 * options are known to fit, and before anything is created.
 */
async function sendFolder(
  { client, values, say }: DeployCall,
  name: string,
  folder: string,
  bodyFor: (existing: Deployment | null) => Promise<DeployBody>,
): Promise<Deployed> {
  let packed: Packed | undefined
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
