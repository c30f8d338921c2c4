/**
 * Runs git with a configuration of ours alone: no hooks, no prompts, no protocol but the one that is needed.
 */
import fs from 'node:fs'
import { OutputTail } from '../output/lines.ts'
import { NO_SPACE_OUTPUT, noSpaceFailure } from '../output/no-space.ts'
import { StepFailure } from '../output/step-failure.ts'
import { storeCredentials } from './git-credentials.ts'
import { type GitRoute, httpConfig, sshOptions } from './git-route.ts'
import type { Remote } from './repository.ts'
import type { GitAccount, RunCommand } from './run-command.ts'
import type { Credentials } from './source-access.ts'

export interface Git {
  /**
   * Runs git on this build's bare repository; gives its output, at most 1,000 lines, of those that `keep` wants.
   * Throws StepFailure when it fails.
   */
  run(args: string[], keep?: (line: string) => boolean): Promise<string>
  /** Makes an empty folder that git may write to. */
  makeFolder(folder: string, mode: number): void
  /** Removes all that was written here: for when its last run is over, however that ended. Rejects when something stays. */
  close(): Promise<void>
}

export interface GitOptions {
  remote: Remote
  /** the bare repository to work on */
  folder: string
  /** null: the repository is read without */
  credentials: Credentials | null
  /** is written here, and next to it what git needs for the credentials */
  configFile: string
  searchPath: string
  /** where git may connect; null: the repository is on this machine */
  route: GitRoute | null
  /** null: the server's own */
  account: GitAccount | null
  run: RunCommand
  log: (line: string) => void
}

/** What git prints is kept for answers and failures; only a failure's is logged. */
export function createGit(options: GitOptions): Git {
  const { remote, folder, credentials, configFile, searchPath, route, account, run, log } = options
  const credentialsFile = `${configFile}-credentials`
  const helper = credentials ? storeCredentials(credentialsFile, remote, credentials) : []
  const http = route && remote.protocol !== 'ssh' ? httpConfig(route) : []
  fs.writeFileSync(configFile, [...configuration(remote), ...http, ...helper, ''].join('\n'), { mode: 0o600 })
  const give = (file: string) => account && fs.chownSync(file, account.uid, account.gid)
  for (const file of [configFile, ...(credentials ? [credentialsFile] : [])]) give(file)
  const ssh = [
    'ssh',
    '-o',
    'BatchMode=yes',
    '-o',
    'StrictHostKeyChecking=accept-new',
    ...(route ? sshOptions(route) : []),
  ]
  const env = {
    PATH: searchPath,
    LC_ALL: 'C',
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: configFile,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_PROTOCOL_FROM_USER: '0',
    // words without quotes: a host name, an address or a number at most
    GIT_SSH_COMMAND: ssh.join(' '),
  }
  return {
    async run(args, keep = () => true) {
      const output: string[] = []
      const tail = new OutputTail(5)
      const exit = await run({ command: 'git', args, cwd: '/', env, gitAccount: account }, (shown, line) => {
        if (output.length < 1000 && keep(line)) output.push(line)
        tail.add(shown)
      })
      if (exit.code === 0) return output.join('\n')
      if (exit.code === 127)
        throw new StepFailure('TOOL_MISSING', 'git is not installed on this machine: install it and redeploy.')
      for (const line of output.slice(-20)) log(line)
      if (NO_SPACE_OUTPUT.test(output.join('\n'))) throw noSpaceFailure()
      throw new StepFailure(
        'CLONE_FAILED',
        tail.appendTo(explainFailure(output.join('\n'), credentials ? WITH_CREDENTIALS : WITHOUT_CREDENTIALS)),
      )
    },
    makeFolder(made, mode) {
      fs.mkdirSync(made, { mode })
      give(made)
    },
    async close() {
      for (const file of [credentialsFile, configFile, folder])
        await fs.promises.rm(file, { recursive: true, force: true })
    },
  }
}

// As a file, not as -c options: git doesn't pass those on to the process that reads a local repository, which
// would refuse one that belongs to another account.
function configuration({ protocol }: Remote): string[] {
  return [
    '[core]',
    '\thooksPath = /dev/null',
    '\tfsmonitor = false',
    '\tquotePath = false',
    '[safe]',
    '\tdirectory = *',
    '[protocol]',
    '\tallow = never',
    `[protocol "${protocol}"]`,
    '\tallow = always',
    '[advice]',
    '\tdetachedHead = false',
  ]
}

// The one place that reads what git prints: it has no codes, only an exit code of 128 for nearly everything.
const NO_REF: FailureReason = [/couldn't find remote ref/i, 'The repository has no such branch or tag: check repo_ref.']
const NO_ACCESS =
  /authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|error: 40[13]/i
const NO_HOST: FailureReason = [
  /could not resolve host|unable to access|connection (refused|timed out)/i,
  'The repository host could not be reached.',
]
const MOVED: FailureReason = [
  /requested URL returned error: 30\d/i,
  'The repository’s host redirects to another address, which is not followed: create the deployment again with the repository’s present address.',
]
const NO_REPOSITORY = /not found|does not appear to be a git repository|could not read from remote/i

type FailureReason = [RegExp, string]

const WITHOUT_CREDENTIALS: FailureReason[] = [
  NO_REF,
  MOVED,
  [NO_ACCESS, 'The repository could not be read without credentials: make it public, or use one below GIT_DIRECTORY.'],
  NO_HOST,
  [NO_REPOSITORY, 'The repository was not found.'],
]

// a host says "not found" of what one may not see
const NOT_REACHED =
  'The installation does not reach this repository: add the repository to it at the git provider, then redeploy.'
const WITH_CREDENTIALS: FailureReason[] = [
  NO_REF,
  MOVED,
  [NO_ACCESS, NOT_REACHED],
  NO_HOST,
  [NO_REPOSITORY, NOT_REACHED],
]

function explainFailure(output: string, reasons: FailureReason[]): string {
  return reasons.find(([pattern]) => pattern.test(output))?.[1] ?? 'The repository could not be fetched.'
}
