import { expect, test } from 'vitest';
import { plainTextOf } from '../../src/markdown/plain-text.ts';

test.for([
  ['<p>Hello <strong>you</strong> &amp; <code>&lt;b&gt;</code></p>', 'Hello you & <b>'],
  ['<p><span aria-label="smile" class="emoji emoji-1f642" role="img" title="smile">:smile:</span>!</p>', '🙂!'],
  [
    '<div class="spoiler-block"><div class="spoiler-header">\n<p>Title</p>\n</div><div class="spoiler-content" aria-hidden="true">\n' +
      '<div><p>secret</p></div>\n</div></div><p>after</p>',
    'Title\nafter',
  ],
  ['<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<blockquote>\n<p>quote</p>\n</blockquote>', '• a\n• b\nquote'],
  [
    '<p><a href="http://a/b.png">http://a/b.png</a></p>\n<div class="message_inline_image"><a href="http://a/b.png"><img src="http://a/b.png"></a></div>',
    'http://a/b.png',
  ],
  [
    '<p>Hear <audio controls preload="metadata" src="/user_uploads/2/a" title="my &quot;song&quot;"></audio>!</p>\n' +
      '<p>and see <img alt="the sea" class="inline-image" data-original-src="/user_uploads/2/b" src="/c"></p>\n' +
      '<div class="message_inline_image message_inline_video"><a href="/d"><video preload="metadata" src="/d"></video></a></div>',
    'Hear my "song"!\nand see the sea',
  ],
  ['<p>a<br>\nb</p>', 'a\nb'],
] as const)('%s is read as %s', ([html, text]) => {
  expect(plainTextOf(html)).toBe(text);
});
