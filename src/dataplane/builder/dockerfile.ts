/**
 * Renders the Dockerfile of a Node or Python plan. Pure: the same plan and settings give the same text, so layers are reused. No
 * secret is in the text or in a layer. README.md explains the order of layers.
 */
import type { InstallStep, NodePlan, PythonPlan, Start } from '../build/plan/build-plan.ts'
import { StepFailure } from '../output/step-failure.ts'

/** Image references; `{version}` stands for the requested or default version. */
export interface BaseImages {
  node: string
  python: string
}

const DEFAULT_VERSIONS = { node: '22', python: '3.12' }
export function renderDockerfile(plan: NodePlan | PythonPlan, images: BaseImages, deploymentId: string): string {
  const own = [ROOT, '/home/agent', ...(plan.kind === 'python' ? [VENV] : []), ...(needsServer(plan) ? [SERVER] : [])]
  const folders = own.join(' ')
  const lines = [
    instruction('FROM', baseImage(plan, images)),
    runInstruction(`mkdir -p ${folders} && chown ${USER} ${folders}`),
    instruction('USER', USER),
    instruction('WORKDIR', ROOT),
    ...(plan.kind === 'python' ? pythonEnvironment(plan) : []),
    ...serverPackages(plan),
    // layers from here on are not shared with other deployments
    instruction('ENV', `PILOTHOUSE_DEPLOYMENT_ID=${deploymentId}`),
    ...installLayers(plan),
    ...(plan.kind === 'node' && plan.build ? [deploymentCommand(plan.build.command, plan.build.folder)] : []),
    ...environmentLines(plan),
    instruction('WORKDIR', escapeVariables(imagePath(plan.start.folder))),
    `CMD ${JSON.stringify(['/bin/sh', '-c', startLine(plan.start)])}`,
  ]
  return `${lines.join('\n')}\n`
}

/** Throws StepFailure for a version that can't be part of a tag. */
function baseImage({ kind, version, graphConfig }: NodePlan | PythonPlan, images: BaseImages): string {
  if (version !== null && images[kind].includes('{version}') && !/^\w[\w.-]*$/.test(version))
    throw new StepFailure(
      'CONFIG_INVALID',
      `"${graphConfig}": "${kind}_version" must be a version like "${DEFAULT_VERSIONS[kind]}", because it becomes part of an image tag.`,
    )
  return images[kind].replaceAll('{version}', version ?? DEFAULT_VERSIONS[kind])
}

const needsServer = (plan: NodePlan | PythonPlan): boolean =>
  plan.supplied !== null || (plan.kind === 'python' && plan.manager === 'uv')

/** Layers with the agent server of a plan without its own. They come before the tree's files, so deployments share them. */
function serverPackages(plan: NodePlan | PythonPlan): string[] {
  if (!plan.supplied) return []
  const packages = plan.supplied.packages.map(shellQuoted).join(' ')
  if (plan.kind === 'node') return [sharedCommand(`cd ${SERVER}; npm install --prefix ${SERVER} ${packages}`)]
  return [
    sharedCommand(`python3 -m venv ${SERVER}/venv; ${SERVER}/venv/bin/pip install ${packages}`),
    // PYTHONPATH of the server names the tree's packages by this link, for any version of Python
    sharedCommand(
      `ln -s "$(${VENV}/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" ${VENV}/packages`,
    ),
  ]
}

/** Copies the files that each step needs, then runs it. The whole tree is copied before a step without such a list, or last. */
function installLayers({ install, manager }: NodePlan | PythonPlan): string[] {
  const lines: string[] = []
  const there = new Set<string>()
  let whole = false
  const all = () => {
    if (!whole) lines.push(copyInstruction(['.'], '.', USER))
    whole = true
  }
  for (const step of install) {
    if (step.needs === null) all()
    else if (!whole) lines.push(...copyLines(step.needs.filter((file) => !there.has(file))))
    for (const file of step.needs ?? []) there.add(file)
    // a folder without copied files may not exist yet
    lines.push(deploymentCommand(shellLine(step, manager), whole || there.size > 0 ? step.folder : '.'))
  }
  all()
  return lines
}

function copyLines(files: string[]): string[] {
  const folders = new Map<string, string[]>()
  for (const file of files) {
    const folder = file.includes('/') ? file.slice(0, file.lastIndexOf('/')) : '.'
    folders.set(folder, [...(folders.get(folder) ?? []), file])
  }
  return [...folders].map(([folder, those]) => copyInstruction(those, folder, USER))
}

/** A step as a shell line. corepack provides a package manager that the base image lacks. */
function shellLine({ command: words }: InstallStep, manager: string): string {
  const [program, ...args] = words
  if (program === 'sh' && args[0] === '-c' && args.length === 2) return `(\n${args[1]}\n)`
  const brought = manager === 'pnpm' || manager === 'yarn'
  const first =
    brought && program === manager ? `$(command -v ${manager} || echo corepack ${manager})` : shellQuoted(program!)
  return [first, ...args.map(shellQuoted)].join(' ')
}

/** Installs uv into its own environment: `uv sync` removes packages that the lock file does not name. */
function pythonEnvironment({ manager }: PythonPlan): string[] {
  return [
    instruction('ENV', `VIRTUAL_ENV=${VENV}`, `UV_PROJECT_ENVIRONMENT=${VENV}`, `PATH=${VENV}/bin:$PATH`),
    sharedCommand(`python3 -m venv ${VENV}`),
    ...(manager === 'uv'
      ? [
          sharedCommand(`command -v uv || (python3 -m venv ${SERVER}/uv && ${SERVER}/uv/bin/pip install uv)`),
          instruction('ENV', `PATH=$PATH:${SERVER}/uv/bin`),
        ]
      : []),
  ]
}

function environmentLines(plan: NodePlan | PythonPlan): string[] {
  const { supplied, start, graphConfig } = plan
  const bins = plan.kind === 'node' ? binFolders(start.folder) : []
  const ofServer = supplied ? [plan.kind === 'node' ? `${SERVER}/node_modules/.bin` : `${SERVER}/venv/bin`] : []
  const folders = [...bins.map(escapeVariables), '$PATH', ...ofServer]
  const paths =
    plan.kind === 'python' && supplied
      ? [...plan.importable.map((folder) => escapeVariables(imagePath(folder))), `${VENV}/packages`]
      : []
  return [
    instruction(
      'ENV',
      'HOME=/home/agent',
      `PATH="${folders.join(':')}"`,
      ...(supplied ? [`GRAPH_CONFIG="${escapeVariables(imagePath(graphConfig))}"`] : []),
      ...(paths.length > 0 ? [`PYTHONPATH="${paths.join(':')}"`] : []),
      ...(plan.kind === 'python' ? ['PYTHONUNBUFFERED=1'] : []),
    ),
  ]
}

/** `node_modules/.bin` of a script's folder and all folders above it. */
function binFolders(folder: string): string[] {
  const parts = folder === '.' ? [] : folder.split('/')
  return parts
    .map((_, index) => imagePath(parts.slice(0, parts.length - index).join('/')))
    .concat(ROOT)
    .map((one) => `${one}/node_modules/.bin`)
}

const startLine = ({ prestart, command: start }: Start): string =>
  prestart ? `sh -c ${shellQuoted(prestart)} && exec sh -c ${shellQuoted(start)}` : start

const escapeVariables = (text: string): string => text.replaceAll(/[\\"$]/g, '\\$&')

/** Build secret with a line `export NAME='…'` for each secret of the deployment. */
export const ENVIRONMENT_SECRET = 'pilothouse_environment'
/** Build secret with only the server's settings. */
export const SETTINGS_SECRET = 'pilothouse_settings'
/** Prefix of these names; a deployment's secret with this prefix is not passed. */
export const RESERVED_PREFIX = 'pilothouse_'
/** Numeric: clusters that require a non-root user can't look up a name. */
const USER = '10001:10001'
/** Paths in a generated image, and instructions that run commands with secrets. */
const ROOT = '/app'
/** packages of a Python tree, and of the agent server */
const VENV = '/venv'
const SERVER = '/server'

/** Keeps package managers from prompts, advertisements and telemetry. Caches and HOME are removed after the command. */
const PACKAGE_MANAGER_ENV = {
  CI: 'true',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_CACHE_DIR: '1',
  UV_NO_CACHE: '1',
  UV_PYTHON_DOWNLOADS: 'never',
  HOME: '/tmp/build',
}

/** Runs a shell line with the deployment's secrets in its environment; the layer contains none of them. */
const deploymentCommand = (text: string, folder: string): string => runWithSecret(ENVIRONMENT_SECRET, text, folder)

/**
 * Runs a shell line in a layer that deployments share. Engines find a layer by the text of its commands, not by the secrets. A
 * deployment's secrets could change the layer for all others, so only server settings are passed.
 */
const sharedCommand = (text: string): string => runWithSecret(SETTINGS_SECRET, text, '.')

function runWithSecret(secret: string, text: string, folder: string): string {
  const settings = Object.entries(PACKAGE_MANAGER_ENV).map(([name, value]) => `${name}=${value}`)
  return runInstruction(
    `set -e; . /run/secrets/${secret}; export ${settings.join(' ')}; mkdir -p /tmp/build; cd ${shellQuoted(imagePath(folder))}; ${text}\nrm -rf /tmp/build`,
    `--mount=type=secret,id=${secret},uid=${USER.split(':')[0]}`,
  )
}

const imagePath = (folder: string): string => (folder === '.' ? ROOT : `${ROOT}/${folder}`)
const shellQuoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** Throws StepFailure for a word with a line break, which these instructions can't contain. */
function instruction(instruction: string, ...words: string[]): string {
  const broken = words.find((word) => /[\r\n]/.test(word))
  if (broken === undefined) return `${instruction} ${words.join(' ')}`
  throw new StepFailure('CONFIG_INVALID', `A path with a line break can't be used in an image: ${broken}`)
}

/** Writes Dockerfile instructions, each on one line for any input. */
const runInstruction = (script: string, ...options: string[]): string =>
  ['RUN', ...options, JSON.stringify(['/bin/sh', '-c', script])].join(' ')

/** Copies files into a folder below the working folder. File names are literal. */
function copyInstruction(files: string[], folder: string, owner: string): string {
  const to = folder === '.' ? './' : `./${folder}/`
  return `COPY --chown=${owner} ${JSON.stringify([...files.map(escapePattern), escapeName(to)])}`
}

/** The engine expands variables in names, and treats some characters as patterns. */
const escapePattern = (name: string): string => escapeName(name).replaceAll(/[*?[]/g, '[$&]')
const escapeName = (name: string): string => name.replaceAll(/[$\\]/g, '\\$&')
