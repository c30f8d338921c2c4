/**
 * Runs git with our configuration only: no hooks, no prompts, only the protocol that the remote needs. Credentials for one host
 * are in a file that only git's account can read: in no argument, URL, environment or log.
 */
import fs from 'node:fs'
import { OutputTail } from '../output/lines.ts'
import { NO_SPACE_OUTPUT, noSpaceFailure, StepFailure } from '../output/step-failure.ts'
import { type GitRoute, httpConfig, sshOptions } from './git-route.ts'
import type { Remote } from './repository.ts'
import type { GitAccount, RunCommand } from './run-command.ts'
import type { Credentials } from './source-access.ts'

export interface Git {
  /**
   * Runs git on this build's bare repository. Returns its first 1,000 output lines for which `keep` is true. Throws StepFailure
   * when git fails.
   */
  run(args: string[], keep?: (line: string) => boolean): Promise<string>
  makeFolder(folder: string, mode: number): void
  /** Removes all files written here, after the last run. Rejects when a file remains. */
  close(): Promise<void>
}

export interface GitOptions {
  remote: Remote
  folder: string
  /** null: the repository is read without credentials */
  credentials: Credentials | null
  /** path of the configuration file to write; the credentials file is next to it */
  configFile: string
  searchPath: string
  /** addresses that git may connect to; null: the repository is on this machine */
  route: GitRoute | null
  account: GitAccount | null
  run: RunCommand
  log: (line: string) => void
}

/** Keeps git's output for results and failures; logs it only when git fails. */
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
    // no quoting needed: the words are host names, addresses and numbers
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

// A file, not -c options: git does not pass those on to the process that reads a local repository, and that process would refuse
// a repository of another account.
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

// The only place that parses git's messages: git exits with code 128 for nearly every failure.
const NO_REF: FailureReason = [/couldn't find remote ref/i, 'The repository has no such branch or tag: check repo_ref.']
const NO_ACCESS =
  /authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|error: 40[13]/i
const NO_HOST: FailureReason = [
  /could not resolve host|unable to access|connection (refused|timed out)/i,
  'The repository host could not be reached.',
]
const MOVED: FailureReason = [
  /requested URL returned error: 30\d/i,
  'The repository’s host redirects to another address, and redirects are not followed: create the deployment again with the repository’s present address.',
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

// hosts answer "not found" when access is missing
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

/**
 * Writes `file` for git's `credential-store` and returns the configuration lines that name it. They apply to the remote's origin
 * only: a redirect to another host gets no credentials. Throws StepFailure for a remote without an origin.
 */
function storeCredentials(file: string, { url, protocol }: Remote, credentials: Credentials): string[] {
  if (protocol !== 'https' && protocol !== 'http')
    throw new StepFailure(
      'CONFIG_INVALID',
      'A git integration reads repositories over https:// only: use that repo_url.',
    )
  const { origin, host } = new URL(url)
  const [user, password] = [credentials.username, credentials.password].map(encodeURIComponent)
  fs.writeFileSync(file, `${protocol}://${user}:${password}@${host}\n`, { mode: 0o600, flag: 'wx' })
  return [
    // the empty value clears helpers that were configured before
    '[credential]',
    '\thelper =',
    `[credential "${origin}"]`,
    `\thelper = ${quoted(`store --file=${shellQuoted(file)}`)}`,
  ]
}

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
