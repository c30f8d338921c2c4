/** What `deploy` sends of where the code comes from, by its options: of a new deployment, and of one that is there. */
import type { Client, components, DeployBody, Deployment } from '../../client/index.ts'
import { UsageError } from '../terminal/command.ts'
import type { Values } from './call.ts'
import { defaultConfig } from './pack.ts'

export const SOURCE_OPTIONS = {
  repo: { type: 'string' },
  ref: { type: 'string' },
  config: { type: 'string' },
  integration: { type: 'string' },
  type: { type: 'string' },
  'build-on-push': { type: 'boolean' },
  image: { type: 'string' },
  listener: { type: 'string' },
  namespace: { type: 'string' },
  dir: { type: 'string' },
} as const

type DeploymentType = components['schemas']['SourceConfigInput']['deployment_type']
type Said = Values<typeof SOURCE_OPTIONS>

/** What an update says: only what was named. Of nothing at all (`bare`), the newest commit of the ref that is stored. */
export function changeOf(
  values: Said,
  { source, source_revision_config }: Deployment,
  secretsSaid: boolean,
): DeployBody {
  const { repo, integration, ref, config, image, listener, namespace, type, dir } = values
  const bare =
    !secretsSaid && [repo, ref, config, image, dir, values['build-on-push']].every((value) => value === undefined)
  if (bare && source !== 'gitprovider')
    throw new UsageError(`Say what to change: a new --image or --dir, or secrets (its source is ${source}).`)
  const repo_ref = ref ?? (bare || repo !== undefined ? source_revision_config.repo_ref : undefined)
  return {
    source_config: {
      repo_url: repo,
      integration_id: integration,
      deployment_type: type as DeploymentType,
      build_on_push: values['build-on-push'],
      listener_id: listener,
      listener_config: namespace === undefined ? undefined : { k8s_namespace: namespace },
    },
    source_revision_config: { repo_ref, graph_config_path: config, image_uri: image },
  }
}

export async function newOf(client: Client, values: Said, name: string): Promise<DeployBody> {
  const { repo, integration, ref, config, image, listener, namespace, type } = values
  if (repo !== undefined) {
    if (ref === undefined || config === undefined)
      throw new UsageError(
        `There is no deployment ${name} yet: --repo needs --ref and --config to create it. Only --dir has a default for --config.`,
      )
    return {
      source: 'gitprovider',
      source_config: {
        integration_id: integration ?? (await theIntegration(client)),
        repo_url: repo,
        deployment_type: type as DeploymentType,
        build_on_push: values['build-on-push'],
      },
      source_revision_config: { repo_ref: ref, graph_config_path: config },
    }
  }
  if (image !== undefined)
    return {
      source: 'external_container',
      source_config: {
        listener_id: listener,
        listener_config: namespace === undefined ? undefined : { k8s_namespace: namespace },
      },
      source_revision_config: { image_uri: image },
    }
  if (values.dir === undefined)
    throw new UsageError(`There is no deployment ${name} yet: say what it is made of, with --repo, --image or --dir.`)
  const graph_config_path = config ?? defaultConfig(values.dir)
  return { source: 'internal_source', source_config: {}, source_revision_config: { graph_config_path } }
}

/** The only one there is. */
async function theIntegration({ api }: Client): Promise<string> {
  const { data } = await api.GET('/v1/integrations/gitprovider/install')
  const [only, ...others] = data!
  if (only && others.length === 0) return only.id
  if (!only) throw new UsageError('There is no git integration in this workspace.')
  throw new UsageError(
    `Which integration? Name it with --integration:\n${data!.map(({ id, name }) => `  ${id}  ${name}`).join('\n')}`,
  )
}
