/** `init`: writes the project file that `deploy` reads. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Call, command, UsageError } from '../../terminal/command.ts'
import { checkProject, type Project, writeProject } from '../deploy/project.ts'
import { addSourceOptions, PROJECT_FILE, type SourceOptions } from '../deploy/request.ts'
import { repeatable } from '../frame/call.ts'

const HEADER = `# \`pilothouse deploy\` in this folder deploys what this file describes.
# \`secrets\` are names: the values come from environment variables, or stay as they are on the server.
`

export const init = command({
  examples: [
    'init',
    'init --name my-agent --repo https://github.com/acme/agent --ref main --config graph.json --secret OPENAI_API_KEY',
  ],
  details: `Without options it writes a file that deploys this folder. On a terminal it asks for the name and the source.`,
  define: (command) =>
    addSourceOptions(
      command
        .option('--name <name>', 'the deployment’s name; by default that of the folder')
        .option('--secret <name>', 'the name of a secret; repeatable', repeatable)
        .option('--force', 'replace an existing file'),
    ),
  async work(call, _, { name, secret, force, ...options }) {
    if (!force && fs.existsSync(PROJECT_FILE))
      throw new UsageError(`${PROJECT_FILE} exists. Pass --force to replace it.`)
    const project = checkProject({
      name: name ?? (await askWithDefault(call, 'Name of the deployment?', defaultName())),
      source: sourceOf(await withSource(call, options)),
      ...(secret && { secrets: secret }),
    })
    writeProject(HEADER, project, force === true)
    const text = `Wrote ${PROJECT_FILE}. To deploy ${project.name}: pilothouse deploy`
    return { outcome: 'done', json: { file: path.resolve(PROJECT_FILE), project }, text }
  },
})

/** A name that the server accepts. */
const defaultName = () =>
  path
    .basename(process.cwd())
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63) || 'agent'

async function askWithDefault({ interactive, ask }: Call, question: string, preset: string): Promise<string> {
  if (!interactive) return preset
  return (await ask(`${question} [${preset}]`)) || preset
}

/** Adds the source: this folder, or on a terminal the git repository that the person chooses. */
async function withSource(call: Call, options: SourceOptions): Promise<SourceOptions> {
  if (options.repo ?? options.image ?? options.dir) return options
  const remote = call.interactive ? git('remote', 'get-url', 'origin') : null
  if (remote !== null) {
    const answer = await call.ask(`Deploy this folder, or the repository ${remote}? [folder/repository]`)
    if (/^r/i.test(answer))
      return {
        ...options,
        repo: remote,
        ref: options.ref ?? (await askWithDefault(call, 'Branch?', git('branch', '--show-current') || 'main')),
        config: options.config ?? (await askWithDefault(call, 'Graph configuration file?', 'langgraph.json')),
      }
  }
  return { ...options, dir: '.' }
}

const sourceOf = ({ buildOnPush, ...rest }: SourceOptions): Partial<Project['source']> => {
  const { repo, ref, config, integration, type, image, listener, namespace, dir } = rest
  const all = { repo, ref, config, integration, type, build_on_push: buildOnPush, image, listener, namespace, dir }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** null: no repository, no git, or no remote */
function git(...args: string[]): string | null {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return null
  }
}
