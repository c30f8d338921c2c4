/** The source in the request body of `deploy`, from its options: for a create and for an update. */
import type { Client, components, DeployBody, Deployment } from '../../client/index.ts'
import { UsageError } from '../terminal/command.ts'
import type { OptionValues } from './call.ts'
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
type SourceValues = OptionValues<typeof SOURCE_OPTIONS>

/** Contains only the given options. Without any, sends the stored ref, which builds its newest commit. */
export function updateBody(
  values: SourceValues,
  { source, source_revision_config }: Deployment,
  changesSecrets: boolean,
): DeployBody {
  const { repo, integration, ref, config, image, listener, namespace, type, dir } = values
  const onlyName =
    !changesSecrets && [repo, ref, config, image, dir, values['build-on-push']].every((value) => value === undefined)
  if (onlyName && source !== 'gitprovider')
    throw new UsageError(`No change is given. Pass --image, --dir or secrets (the deployment's source is ${source}).`)
  const repo_ref = ref ?? (onlyName || repo !== undefined ? source_revision_config.repo_ref : undefined)
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

export async function createBody(client: Client, values: SourceValues, name: string): Promise<DeployBody> {
  const { repo, integration, ref, config, image, listener, namespace, type } = values
  if (repo !== undefined) {
    if (ref === undefined || config === undefined)
      throw new UsageError(
        `There is no deployment ${name} yet. To create it, --repo needs --ref and --config; only --dir has a default for --config.`,
      )
    return {
      source: 'gitprovider',
      source_config: {
        integration_id: integration ?? (await onlyIntegration(client)),
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
    throw new UsageError(`There is no deployment ${name} yet. To create it, pass --repo, --image or --dir.`)
  const graph_config_path = config ?? defaultConfig(values.dir)
  return { source: 'internal_source', source_config: {}, source_revision_config: { graph_config_path } }
}

/** Throws UsageError unless there is exactly one. */
async function onlyIntegration({ api }: Client): Promise<string> {
  const { data } = await api.GET('/v1/integrations/gitprovider/install')
  const [only, ...others] = data!
  if (only && others.length === 0) return only.id
  if (!only) throw new UsageError('This workspace has no git integration. Create one first.')
  throw new UsageError(
    `This workspace has several git integrations. Choose one with --integration:\n${data!.map(({ id, name }) => `  ${id}  ${name}`).join('\n')}`,
  )
}
