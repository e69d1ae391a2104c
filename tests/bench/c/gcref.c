/* gcref: the practical limit of an accepting server, in C, to hold homi against.
 *
 * One epoll loop on a unix socket.  Each round gathers every whole line that has
 * arrived, appends them to one file with one write(2), makes them durable with one
 * fdatasync(2), and only then answers all of them.
 *
 *   gcref SOCKET FILE ack     lines on lasting connections; one {"ok":1} a line
 *   gcref SOCKET FILE close   one message a connection; the answer is the close,
 *                             after the sender's half-close, as at a peer socket
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROUND = 1024, ROOM = 1 << 18, BATCH = 32 << 20 };

struct conn {
    int fd;
    int answers; /* lines of this round to answer */
    int ended;   /* the sender has half-closed */
    size_t have;
    char buf[ROOM];
};

static const char ACK[] = "{\"ok\":1}\n";
static char acks[64 * 1024];
static char batch[BATCH];
static size_t batched;
static struct conn *due[ROUND];
static int dues;
static int ep, file, closing;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void watch(int fd, void *what)
{
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = what };
    if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0)
        die("epoll_ctl");
}

static void welcome(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = malloc(sizeof *c);
        if (!c)
            die("malloc");
        c->fd = fd;
        c->answers = c->ended = 0;
        c->have = 0;
        watch(fd, c);
    }
}

static void goodbye(struct conn *c)
{
    close(c->fd);
    free(c);
}

/* Move the whole lines of c into the batch; how many there were. */
static int take_lines(struct conn *c)
{
    char *last = memrchr(c->buf, '\n', c->have);
    if (!last)
        return 0;
    size_t whole = last + 1 - c->buf;
    int lines = 0;
    for (char *p = c->buf; p < c->buf + whole; p++) {
        p = memchr(p, '\n', c->buf + whole - p);
        lines++;
    }
    if (batched + whole > BATCH)
        die("batch");
    memcpy(batch + batched, c->buf, whole);
    batched += whole;
    memmove(c->buf, c->buf + whole, c->have - whole);
    c->have -= whole;
    return lines;
}

static void readable(struct conn *c)
{
    for (;;) {
        ssize_t r = read(c->fd, c->buf + c->have, sizeof c->buf - c->have);
        if (r < 0 && errno == EAGAIN)
            break;
        if (r <= 0) {
            c->ended = 1;
            break;
        }
        c->have += r;
        if (!closing)
            break;
    }
    c->answers += take_lines(c);
    if (c->answers || c->ended)
        due[dues++] = c;
}

static void commit(void)
{
    size_t done = 0;
    while (done < batched) {
        ssize_t w = write(file, batch + done, batched - done);
        if (w < 0)
            die("write");
        done += w;
    }
    if (batched && fdatasync(file) < 0)
        die("fdatasync");
    batched = 0;
}

static void answer(struct conn *c)
{
    if (c->ended) {
        goodbye(c);
        return;
    }
    if (closing)
        return; /* its half-close is still on the way */
    size_t n = c->answers * (sizeof ACK - 1);
    if (n > sizeof acks || write(c->fd, acks, n) < 0)
        c->ended = 1;
    c->answers = 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: gcref SOCKET FILE ack|close\n");
        return 64;
    }
    closing = !strcmp(argv[3], "close");
    signal(SIGPIPE, SIG_IGN);
    unlink(argv[1]);
    for (size_t i = 0; i + sizeof ACK - 1 <= sizeof acks; i += sizeof ACK - 1)
        memcpy(acks + i, ACK, sizeof ACK - 1);

    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    strncpy(at.sun_path, argv[1], sizeof at.sun_path - 1);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 4096) < 0)
        die(argv[1]);
    file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
    ep = epoll_create1(EPOLL_CLOEXEC);
    if (file < 0 || ep < 0)
        die(argv[2]);
    watch(listener, NULL);

    static struct epoll_event events[ROUND];
    for (;;) {
        int n = epoll_wait(ep, events, ROUND, -1);
        dues = 0;
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                readable(events[i].data.ptr);
            else
                welcome(listener);
        }
        commit();
        for (int i = 0; i < dues; i++)
            answer(due[i]);
    }
}
