/**
 * Writes the outcome of `pilothouse deploy` into the pull request: one comment for each deployment, which later runs change. A
 * comment that can't be written is a warning, because the deployment is done.
 */
import fs from 'node:fs'

const { NAME, TOKEN, GITHUB_API_URL, GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_RUN_ID, GITHUB_SERVER_URL } =
  process.env
const PAGE_SIZE = 100
const MARKER = `<!-- pilothouse: ${NAME} -->`

async function call(method, path, body) {
  const answer = await fetch(`${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/issues/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      accept: 'application/vnd.github+json',
      'content-type': 'application/json',
    },
    body: body && JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}.`)
  return answer.json()
}

async function ownComment(number) {
  for (let page = 1; ; page++) {
    const comments = await call('GET', `${number}/comments?per_page=${PAGE_SIZE}&page=${page}`)
    const own = comments.find(({ body }) => body?.startsWith(MARKER))
    if (own || comments.length < PAGE_SIZE) return own
  }
}

function textOf({ outcome, url, revision, revision_id: id, error }) {
  const reason = revision?.status_message ?? error?.detail
  const run = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`
  return [
    `${MARKER}\n**${NAME}**: ${outcome}`,
    ...(url ? [url] : []),
    ...(id ? [`revision ${revision?.number ?? ''} \`${id}\``] : []),
    // indented text is shown as it is
    ...(outcome !== 'deployed' && reason ? [reason.replaceAll(/^/gm, '    ')] : []),
    `[log](${run})`,
  ].join('\n\n')
}

try {
  const number = JSON.parse(fs.readFileSync(GITHUB_EVENT_PATH, 'utf8')).pull_request?.number
  const result = fs.readFileSync(process.argv[2], 'utf8')
  if (!number) console.log('::notice::There is no comment, because this run has no pull request.')
  else {
    const body = textOf(result === '' ? { outcome: 'failed' } : JSON.parse(result))
    const own = await ownComment(number)
    await (own ? call('PATCH', `comments/${own.id}`, { body }) : call('POST', `${number}/comments`, { body }))
  }
} catch (error) {
  console.log(`::warning::The comment could not be written: ${error.message}`)
}
