/** The source in the request body of `deploy`, from its options: for a create and for an update. */
import { type Command, Option, type OptionValues } from '@commander-js/extra-typings'
import type { Client, components, DeployBody, Deployment } from '../../../client/index.ts'
import { UsageError } from '../../terminal/command.ts'
import { CONFIG_FILES, defaultConfig } from './pack.ts'

export const PROJECT_FILE = 'pilothouse.yaml'

export type SourceOptions = {
  repo?: string
  ref?: string
  config?: string
  integration?: string
  type?: DeploymentType
  buildOnPush?: boolean
  image?: string
  listener?: string
  namespace?: string
  dir?: string
  access?: DeploymentAccess
  idleMinutes?: number
  /** only from the project file */
  resources?: components['schemas']['ResourceSpecInput']
}

export const addSourceOptions = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  command
    .optionsGroup('Source in git (an update keeps what you omit; the name alone builds the newest commit):')
    .option('--repo <url>', 'the repository')
    .option('--ref <ref>', 'a branch, or a tag as refs/tags/…')
    .option(
      '--config <path>',
      'the graph configuration file, or package.json, pyproject.toml, Procfile or Dockerfile of an application without graphs',
    )
    .option('--integration <id>', 'the git integration, if there are several')
    .addOption(new Option('--type <type>', 'only when the deployment is created').choices(['dev', 'prod'] as const))
    .option('--build-on-push', 'build each push to the branch')
    .optionsGroup('Source as an image:')
    .option('--image <uri>', 'the image')
    .option('--listener <id>', 'the listener that runs a new deployment')
    .option('--namespace <name>', 'the namespace of a new deployment')
    .optionsGroup('Source in a local folder:')
    .option(
      '--dir <folder>',
      `the folder, without files that git ignores; --config defaults to the first existing file of ${CONFIG_FILES.join(', ')}`,
    ) as Command<A, O & SourceOptions>

type DeploymentType = components['schemas']['SourceConfigInput']['deployment_type']
type DeploymentAccess = Deployment['access']
export const ACCESSES = ['workspace', 'organization', 'public'] as const satisfies DeploymentAccess[]

/** Contains only the given options. Without any, sends the stored ref, which builds its newest commit. */
export function updateBody(
  options: SourceOptions,
  { source, source_revision_config }: Deployment,
  changesSecrets: boolean,
): DeployBody {
  const { repo, integration, ref, config, image, listener, namespace, type, dir, resources } = options
  const onlyName =
    !changesSecrets &&
    [repo, ref, config, image, dir, options.buildOnPush, options.access, options.idleMinutes].every(
      (value) => value === undefined,
    )
  if (onlyName && source !== 'gitprovider')
    throw new UsageError(
      `No change is given. Pass --image, --dir, --access, --idle-minutes or secrets (the deployment's source is ${source}).`,
    )
  const repo_ref = ref ?? (onlyName || repo !== undefined ? source_revision_config.repo_ref : undefined)
  return {
    source_config: {
      repo_url: repo,
      integration_id: integration,
      deployment_type: type,
      build_on_push: options.buildOnPush,
      listener_id: listener,
      listener_config: namespace === undefined ? undefined : { k8s_namespace: namespace },
      resource_spec: resources,
    },
    source_revision_config: { repo_ref, graph_config_path: config, image_uri: image },
  }
}

export async function createBody(client: Client, options: SourceOptions, name: string): Promise<DeployBody> {
  const { repo, integration, ref, config, image, listener, namespace, type, resources: resource_spec } = options
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
        deployment_type: type,
        build_on_push: options.buildOnPush,
        resource_spec,
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
        resource_spec,
      },
      source_revision_config: { image_uri: image },
    }
  if (options.dir === undefined)
    throw new UsageError(`There is no deployment ${name} yet. To create it, pass --repo, --image or --dir.`)
  const graph_config_path = config ?? defaultConfig(options.dir)
  return { source: 'internal_source', source_config: { resource_spec }, source_revision_config: { graph_config_path } }
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
