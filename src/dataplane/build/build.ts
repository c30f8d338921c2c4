/**
 * One try of a build, in a folder of its own: bring the source, check, install, build. Knows nothing of accounts and
 * processes: `run` and `own` are the runtime's.
 */
import fs from 'node:fs'
import path from 'node:path'
import { StepFailure } from '../output/failure.ts'
import { Tail } from '../output/lines.ts'
import { NO_SPACE, SAYS_NO_SPACE } from '../output/no-space.ts'
import { checkGraphConfig } from './graph-config.ts'
import { detectInstall } from './install.ts'
import { findStartScript, type StartScript } from './package.ts'
import { bringSource, type SourceRequest } from './source.ts'

export interface BuildRequest extends SourceRequest {
  has: (program: string) => boolean
  /** environment of install and build command */
  env: Record<string, string>
  /** gives a folder with all that is in it to the account of the build */
  own: (folder: string) => Promise<void>
}

/** What a start needs to know of an artifact; written by us next to its tree, where its own code can't reach. */
export type ArtifactManifest = StartScript

/** npm says first what is wrong, and then how it is used, at length; lines of nothing else are between them. */
const NPM_ERROR = /^npm (error|ERR!) +\S/

/** Throws StepFailure with what to do about it. */
export async function buildSource(request: BuildRequest): Promise<void> {
  const { revision, folder, run, log } = request
  if (!revision.graphConfigPath) throw new StepFailure('CONFIG_INVALID', 'graph_config_path is needed for a build.')
  const tree = path.join(folder, 'tree')
  const hint = await bringSource(request, tree)

  // all that is read from the tree is read before any of its own code has run
  const configFolder = checkGraphConfig(tree, revision.graphConfigPath, hint)
  const manifest: ArtifactManifest = findStartScript(tree, configFolder)
  const install = revision.installCommand
    ? { folder: '.', command: ['sh', '-c', revision.installCommand] }
    : detectInstall(tree, configFolder, request.has)
  await request.own(tree)

  if (install) {
    const shown = revision.installCommand ?? install.command.join(' ')
    await execute(request, 'Install', shown, install.command, path.join(tree, install.folder))
  }
  if (revision.buildCommand)
    await execute(
      request,
      'Build',
      revision.buildCommand,
      ['sh', '-c', revision.buildCommand],
      path.join(tree, configFolder),
    )

  await fs.promises.writeFile(path.join(folder, 'artifact.json'), JSON.stringify(manifest), { mode: 0o600 })

  async function execute(
    of: BuildRequest,
    what: 'Install' | 'Build',
    shown: string,
    command: string[],
    cwd: string,
  ): Promise<void> {
    log(`$ ${shown}`)
    const tail = new Tail(10, NPM_ERROR)
    const [program, ...args] = command
    let full = false
    const exit = await run({ command: program!, args, cwd, env: of.env }, (shown, line) => {
      tail.add(shown)
      full ||= SAYS_NO_SPACE.test(line)
    })
    if (exit.code === 0) return
    const how = exit.signal ? `was ended by ${exit.signal}` : `failed with exit code ${exit.code}`
    if (full)
      throw new StepFailure(
        'NO_SPACE',
        tail.under(`${NO_SPACE}, or where ${what} command "${shown}" writes: free some.`),
      )
    throw new StepFailure(
      what === 'Install' ? 'INSTALL_FAILED' : 'BUILD_COMMAND_FAILED',
      tail.under(`${what} command "${shown}" ${how}: the build log has its output.`),
    )
  }
}
